// The report pages in a real browser: nothing fails, nothing is loaded, the table sorts and searches, names stay text.
// Run as `node --test tests/browser` after `npm ci --prefix tests/browser`; without a browser the tests are skipped.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { close, missing, open, overflow, sample, texts, visit } from './pages.mjs';

const samples = ['stations-20', 'network-2000', 'minimal', 'hostile'];

// Where node i is on the screen, once the page has come to rest there (scrolling hides the tooltip).
function placeOf(page, i) {
  return page.evaluate(async (node) => {
    const svg = document.getElementById('net');
    svg.scrollIntoView({ block: 'center' });
    await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
    const { x, y } = JSON.parse(document.getElementById('data').textContent);
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    return { x: box.left + x[node] * scale, y: box.top + y[node] * scale };
  }, i);
}

describe('report pages', { skip: missing || false }, () => {
  before(open);
  after(close);

  for (const name of samples) {
    for (const width of [390, 1400]) {
      for (const colorScheme of ['light', 'dark']) {
        it(`${name} fits ${width} px, ${colorScheme}`, () => visit(name, { viewport: { width, height: 844 }, colorScheme }, async (page) => {
          assert.equal(await overflow(page), 0);
          assert.ok((await page.locator('h1').textContent()).startsWith('Sample'));
        }));
      }
    }
  }

  it('sorts by any column, with the keyboard too', () => visit('stations-20', {}, async (page) => {
    const gains = async () => (await texts(page, '#table tbody td:last-child .value')).filter((t) => t !== '–')
      .map((t) => Number(t.replace('−', '-').replace(' %', '')));
    const head = page.locator('#table th[data-key="gain"]');
    await head.locator('button').focus();
    await page.keyboard.press('Enter');
    assert.equal(await head.getAttribute('aria-sort'), 'descending');
    const down = await gains();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    await page.keyboard.press('Enter');
    assert.equal(await head.getAttribute('aria-sort'), 'ascending');
    assert.deepEqual(await gains(), [...down].reverse());
    assert.equal((await texts(page, '#table tbody td:last-child .value')).at(-1), '–', 'unknown goes last');
    await page.locator('#table th[data-key="name"] button').click();
    assert.equal((await texts(page, '#table tbody th'))[0], 'Espoo');
  }));

  it('searches 2,000 nodes quickly and turns pages', () => visit('network-2000', {}, async (page) => {
    assert.equal(await page.locator('#table tbody tr').count(), 25);
    await page.locator('#next').click();
    assert.equal((await texts(page, '#table tbody th'))[0], 'node-0025');
    await page.locator('#search').fill('node-199');
    assert.equal(await page.locator('#table tbody tr').count(), 10);
    assert.equal(await page.locator('#count').textContent(), '10 of 2,000 nodes');
    const time = await page.evaluate(() => {
      const start = performance.now();
      for (const button of document.querySelectorAll('#table th button')) button.click();
      return performance.now() - start;
    });
    assert.ok(time < 1000, `sorting by every column took ${time} ms`);
  }));

  it('shows the facts of a node on hover and keeps them on click', () => visit('stations-20', {}, async (page) => {
    const { x, y } = await placeOf(page, 14);
    await page.mouse.move(x, y);
    assert.match(await page.locator('#tip').innerText(), /^Oulu\n/);
    await page.mouse.click(x, y);
    assert.equal(await page.locator('#chosen h3').textContent(), 'Oulu');
    assert.equal(await page.locator('#table tr.chosen th').textContent(), 'Oulu');
    assert.notEqual(await page.locator('#chosen-edges').getAttribute('d'), '');
    await page.mouse.move(2, 2);
    assert.ok(await page.locator('#tip').isHidden());
  }));

  it('recolours, zooms and shows all again', () => visit('network-2000', {}, async (page) => {
    const whole = await page.locator('#net').getAttribute('viewBox');
    for (const mode of ['gain', 'validation', 'train', 'cluster']) {
      await page.locator(`[data-mode="${mode}"]`).click();
      assert.equal(await page.locator('#ramp').isHidden(), mode === 'cluster');
      const dots = await page.locator('#dots .dots').evaluateAll((all) => all.map((p) => p.getAttribute('d')).join('').split('M').length - 1);
      assert.equal(dots, 2000);
    }
    await page.locator('#parameter').selectOption('3');
    assert.ok(await page.locator('#ramp').isVisible());
    await page.locator('[data-zoom="in"]').click();
    assert.notEqual(await page.locator('#net').getAttribute('viewBox'), whole);
    await page.locator('[data-zoom="all"]').click();
    assert.equal(await page.locator('#net').getAttribute('viewBox'), whole);
  }));

  it('shows the numbers of a chart under the pointer', () => visit('stations-20', {}, async (page) => {
    await page.locator('[data-chart="lambda"]').hover();
    assert.match(await page.locator('#tip').innerText(), /held out/);
  }));

  it('shows hostile names as text', () => visit('hostile', {}, async (page) => {
    const name = '</script><img src=x onerror="window.hacked=1">';
    assert.ok((await texts(page, '#table tbody th')).includes(name));
    const { x, y } = await placeOf(page, 0);
    await page.mouse.click(x, y);
    assert.equal(await page.locator('#chosen h3').textContent(), name);
    assert.ok((await page.locator('#tip').innerText()).startsWith(name));
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator('script').count(), 2);
  }));

  it('says the main things without a script', () => visit('stations-20', { javaScriptEnabled: false }, async (page) => {
    for (const text of ['Held-out error', 'no sign of trouble', 'No other choice of models', 'Helsinki', 'fedweave fit']) {
      assert.ok((await page.locator('body').innerText()).includes(text), text);
    }
    assert.equal(await page.locator('#net .dots').count(), 20);
    assert.ok(await page.locator('#copy').isHidden());
  }));

  it('keeps the command as it is', () => visit('stations-20', {}, async (page) => {
    const { command } = JSON.parse(readFileSync(sample('stations-20.json'), 'utf8'));
    assert.equal(await page.locator('#command').textContent(), command);
    await page.locator('#copy').click();
    await page.waitForFunction(() => /Copied|Selected/.test(document.getElementById('copy').textContent), null, { timeout: 5000 });
  }));

  it('leaves out what is not there and claims nothing', () => visit('minimal', {}, async (page) => {
    for (const id of ['network', 'comparison', 'lambda', 'convergence', 'models', 'nodes']) {
      assert.equal(await page.locator('#' + id).count(), 0, id);
    }
    assert.match(await page.locator('#certificate').innerText(), /no certificate/);
  }));
});

// The page of trust in a real browser: it fits, its buttons show what they say, every number has a command, names stay text.
// FEDWEAVE_SAMPLES may name a folder with a page of a real run as trust.html.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { close, missing, open, overflow, visit } from './pages.mjs';

const facts = (page) => page.evaluate(() => JSON.parse(document.getElementById('data').textContent));
const shown = (page, selector) => page.locator(selector).evaluateAll((all) => all.filter((one) => one.getClientRects().length > 0).length);
const items = (said) => said.requirements.flatMap((requirement) => requirement.items);

describe('the page of trust', { skip: missing || false }, () => {
  before(open);
  after(close);

  for (const width of [390, 1400]) {
    for (const colorScheme of ['light', 'dark']) {
      it(`fits ${width} px, ${colorScheme}`, () => visit('trust', { viewport: { width, height: 844 }, colorScheme }, async (page) => {
        assert.equal(await overflow(page), 0);
        assert.equal(await page.locator('main section[id^="KR"]').count(), 7);
      }));
    }
  }

  it('says what its data say, and names stay text', () => visit('trust', {}, async (page) => {
    const said = await facts(page);
    assert.equal(await page.locator('h1').textContent(), said.title);
    const all = items(said);
    assert.equal(await page.locator('.item').count(), all.length);
    assert.equal(await page.locator('.measure').count(), all.flatMap((item) => item.measures).length);
    const commands = await page.locator('.measure .again code').allTextContents();
    assert.deepEqual(commands, all.flatMap((item) => item.measures).map((measure) => measure.command));
    assert.ok(commands.every((command) => command.length > 5));
    const measured = all.filter((item) => item.measures.length > 0).length;
    assert.equal(await page.locator('.facts strong').first().textContent(), `${measured} of ${all.length}`);
    for (const link of await page.locator('.annex a, .chapters a').all()) {
      assert.equal(await page.locator(`[id="${(await link.getAttribute('href')).slice(1)}"]`).count(), 1);
    }
  }));

  it('points of a measure lie inside their intervals', () => visit('trust', {}, async (page) => {
    const places = await page.locator('.whiskers .track').evaluateAll((tracks) => tracks.map((track) => {
      const box = (name) => track.querySelector(name).getBoundingClientRect();
      const [track_, span, dot] = [track.getBoundingClientRect(), box('.span'), box('.dot')];
      return { left: span.left - track_.left, right: track_.right - span.right, inside: (dot.left + dot.right) / 2 - span.left, after: span.right - (dot.left + dot.right) / 2 };
    }));
    assert.ok(places.length > 0);
    for (const place of places) assert.ok(Object.values(place).every((distance) => distance >= -0.6), JSON.stringify(place));
  }));

  it('shows what was asked for, with the keyboard too', () => visit('trust', {}, async (page) => {
    const all = items(await facts(page));
    const numbers = all.flatMap((item) => item.measures).length;
    const gaps = all.flatMap((item) => item.missing).length;
    assert.deepEqual([await shown(page, '.measure'), await shown(page, '.missing')], [numbers, gaps]);
    await page.locator('.filter button[data-show="missing"]').focus();
    await page.keyboard.press('Enter');
    assert.deepEqual([await shown(page, '.measure'), await shown(page, '.missing')], [0, gaps]);
    assert.equal(await page.locator('.filter button[data-show="missing"]').getAttribute('aria-pressed'), 'true');
    await page.locator('.filter button[data-show="person"]').click();
    assert.equal(await shown(page, '.question'), all.flatMap((item) => item.questions).length);
    await page.locator('.filter button[data-show="measured"]').click();
    assert.deepEqual([await shown(page, '.measure'), await shown(page, '.missing')], [numbers, 0]);
    await page.locator('.filter button[data-show="all"]').click();
    assert.equal(await shown(page, '.item'), all.length);
  }));

  it('copies a command, or selects it', () => visit('trust', {}, async (page) => {
    await page.locator('.measure .copy').first().click();
    await page.waitForFunction(() => /Copied|Selected/.test(document.querySelector('.measure .copy').textContent));
  }));

  it('is readable without a script', () => visit('trust', { javaScriptEnabled: false }, async (page) => {
    assert.equal(await page.locator('.filter').isVisible(), false);
    assert.ok(await page.locator('.measure').first().isVisible());
  }));

  it('has nothing that axe finds', () => visit('trust', {}, async (page) => {
    await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8') + ';0');
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    assert.deepEqual(found.violations.map((violation) => [violation.id, violation.nodes.map((node) => node.html)]), []);
  }));
});

// The path over lambda in a real browser: the slider recolours the network and says what the data say, colours stay, the
// merge tree answers to pointer and keys, and without a script the chosen lambda is there as a drawing.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { close, missing, open, overflow, sample, visit } from './pages.mjs';

const samples = ['path-20', 'path-200', 'path-2000'];
const load = (name) => JSON.parse(readFileSync(sample(name + '.json'), 'utf8'));
const number = (text) => Number(text.replace(/,/g, '').replace('−', '-').replace(/ × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/, (_, e) => 'e' + [...e].map((c) => (c === '⁻' ? '-' : '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(c))).join('')));
const close3 = (text, value) => assert.ok(Math.abs(number(text) - value) <= 0.006 * Math.abs(value), `${text} for ${value}`);

const readouts = (page) => page.locator('#readouts div').evaluateAll((all) => Object.fromEntries(all.map((row) => [row.dataset.readout, row.querySelector('dd').textContent])));

// The colour each node is painted in, in the order of the nodes.
function fills(page) {
  return page.evaluate(() => {
    const { x, y } = JSON.parse(document.getElementById('data').textContent);
    const at = new Map();
    for (const path of document.querySelectorAll('#dots .dots')) {
      const { stroke } = getComputedStyle(path);
      for (const dot of path.getAttribute('d').split('M').slice(1)) at.set(dot.split('h')[0].split(' ').map(Number).join(' '), stroke);
    }
    return x.map((_, i) => at.get(`${x[i]} ${y[i]}`));
  });
}

const slider = (page) => page.locator('#lambda-range');
const greyOf = (page) => page.evaluate(() => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = 'var(--k10)';
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
});

function checkReadouts(shown, point) {
  close3(shown.lambda, point.lambda);
  assert.equal(number(shown.clusters), point.clusters);
  close3(shown.objective, point.objective);
  if (point.certified_gap === undefined) assert.equal(shown.gap, 'none');
  else close3(shown.gap, point.certified_gap);
  close3(shown.train, point.train);
  close3(shown.validation, point.validation);
}

// Nodes with one colour are one cluster; grey is for the others.
function checkFills(painted, membership, grey) {
  const cluster = new Map();
  painted.forEach((fill, i) => {
    if (fill === grey) return;
    assert.ok(!cluster.has(fill) || cluster.get(fill) === membership[i], `node ${i}`);
    cluster.set(fill, membership[i]);
  });
  return cluster;
}

describe('the path over lambda', { skip: missing || false }, () => {
  before(open);
  after(close);

  for (const name of samples) {
    for (const width of [390, 1400]) {
      for (const colorScheme of ['light', 'dark']) {
        it(`${name} fits ${width} px, ${colorScheme}`, () => visit(name, { viewport: { width, height: 844 }, colorScheme }, async (page) => {
          assert.equal(await overflow(page), 0);
          await slider(page).press('End');
          assert.equal(await overflow(page), 0);
        }));
      }
    }
    it(`${name} is small`, () => assert.ok(statSync(sample(name + '.html')).size < 2e6));
  }

  for (const name of samples) {
    it(`${name}: the slider recolours the network and says what the data say`, () => visit(name, {}, async (page) => {
      const { path: { points, chosen } } = load(name);
      const grey = await greyOf(page);
      checkReadouts(await readouts(page), points[chosen]);
      const first = await fills(page);
      await slider(page).press('Home');
      checkReadouts(await readouts(page), points[0]);
      assert.ok((await fills(page)).every((fill) => fill === grey), 'every node is on its own');
      for (const k of [Math.floor(chosen / 2), chosen + 3, points.length - 1]) {
        await slider(page).evaluate((range, at) => { range.value = at; range.dispatchEvent(new Event('input')); }, await page.evaluate((k) => path.points[k].at + 0.1, k));
        checkReadouts(await readouts(page), points[k]);
        const painted = await fills(page);
        checkFills(painted, points[k].membership, grey);
        assert.notDeepEqual(painted, first);
      }
      assert.equal(new Set(await fills(page)).size, 1, 'one cluster, one colour');
    }));

    it(`${name}: colours stay`, () => visit(name, {}, async (page) => {
      const { path: { points, chosen } } = load(name);
      const grey = await greyOf(page);
      await slider(page).press('ArrowRight');
      let before = checkFills(await fills(page), points[chosen + 1].membership, grey);
      for (let k = chosen + 2; k < points.length; k++) {
        await slider(page).press('ArrowRight');
        const now = checkFills(await fills(page), points[k].membership, grey);
        for (const [fill, cluster] of now) {
          if (!before.has(fill)) continue;
          const shared = points[k].membership.filter((c, i) => c === cluster && points[k - 1].membership[i] === before.get(fill)).length;
          assert.ok(shared > 0, `a colour moved elsewhere at point ${k}`);
        }
        before = now;
      }
    }));
  }

  it('goes along with the keys and says so', () => visit('path-20', {}, async (page) => {
    const { path: { points, chosen } } = load('path-20');
    const clusters = async () => number((await readouts(page)).clusters);
    await slider(page).focus();
    for (const [key, k] of [['ArrowRight', chosen + 1], ['ArrowLeft', chosen], ['ArrowDown', chosen - 1], ['Home', 0], ['ArrowLeft', 0], ['End', points.length - 1], ['PageDown', points.length - 3]]) {
      await page.keyboard.press(key);
      assert.equal(await clusters(), points[k].clusters, key);
      assert.match(await slider(page).getAttribute('aria-valuetext'), new RegExp(`, ${points[k].clusters} cluster`));
    }
    const places = await page.locator('.cursor').evaluateAll((all) => all.map((cursor) => cursor.style.left));
    assert.equal(places.length, 3, 'the tree and two charts');
    assert.equal(new Set(places).size, 1);
    assert.match(await page.locator('#legend-title').textContent(), /^Clusters at λ = /);
  }));

  it('shows the nodes of a branch and draws a split', () => visit('path-20', {}, async (page) => {
    assert.match(await page.locator('#path > .note').innerText(), /Once a cluster splits/);
    await page.locator('#tree').focus();
    await page.keyboard.press('ArrowDown');
    assert.match(await page.locator('#branch').textContent(), /^\d+ nodes? · from λ = /);
    const lit = () => page.locator('#lit .dots').evaluateAll((all) => all.map((p) => p.getAttribute('d')).join('').split('M').length - 1);
    assert.equal(await lit(), parseInt(await page.locator('#branch').textContent(), 10));
    await page.keyboard.press('Escape');
    assert.equal(await lit(), 0);
    const box = await page.locator('#tree').boundingBox();
    await page.mouse.click(box.x + box.width - 4, box.y + box.height / 2);
    assert.equal(await lit(), 20);
    assert.equal((await readouts(page)).clusters, '1');
  }));

  it('moves when a curve is clicked', () => visit('path-200', {}, async (page) => {
    const plot = page.locator('[data-chart="path-errors"]');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await page.mouse.click(box.x + 2, box.y + box.height / 2);
    checkReadouts(await readouts(page), load('path-200').path.points[0]);
  }));

  it('slides through 2,000 nodes without a stutter', () => visit('path-2000', {}, async (page) => {
    const time = await page.evaluate(() => {
      const start = performance.now();
      for (let k = 0; k < path.points.length; k++) goTo(k);
      return (performance.now() - start) / path.points.length;
    });
    assert.ok(time < 60, `one step takes ${time} ms`);
  }));

  for (const colorScheme of ['light', 'dark']) {
    it(`texts of the path can be read, ${colorScheme}`, () => visit('path-20', { colorScheme }, async (page) => {
      const worst = await page.evaluate(() => {
        const rgb = (text) => text.match(/[\d.]+/g).slice(0, 3).map((v) => Number(v) / 255);
        const light = (text) => rgb(text).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
        const paper = light(getComputedStyle(document.body).backgroundColor);
        const contrast = (node) => { const ink = light(getComputedStyle(node).color); return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05); };
        return Math.min(...[...document.querySelectorAll('#slider dt, #slider dd, #slider .tick, #path .tick, #path .note, #path figcaption, #path .axis-title')].map(contrast));
      });
      assert.ok(worst >= 4.5, `contrast ${worst}`);
    }));
  }

  it('is a drawing at the chosen λ without a script', () => visit('path-200', { javaScriptEnabled: false }, async (page) => {
    const { path: { points, chosen } } = load('path-200');
    checkReadouts(await readouts(page), points[chosen]);
    assert.ok(await slider(page).isHidden());
    assert.ok(await page.locator('#tree .branch').count() > 40);
    assert.ok((await page.locator('#tree svg').boundingBox()).height > 300);
    assert.equal(await page.locator('.mirror use').count(), 1);
    assert.equal(await page.locator('[data-chart="path-clusters"] .line').count(), 1);
  }));
});

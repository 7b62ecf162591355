// What the tests of a running program share: where it is, a table with known truth, a start that waits for its address, the rules of axe.
// Needs the program: FEDWEAVE names it, else target/release/fedweave of this repository.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { missing, root } from './pages.mjs';

export const program = process.env.FEDWEAVE || join(root, 'target', 'release', 'fedweave');
export const absent = missing || (existsSync(program) ? '' : `no program at ${program}`);
// A folder for pictures of the pages; none are taken without it.
const shots = process.env.FEDWEAVE_SHOTS;

// Starts a program and waits for the address that it prints after a word.
export function started(word, words, cwd, stream = 'stdout') {
  const child = spawn(program, words, { cwd });
  const ended = new Promise((done) => { child.on('exit', done); });
  return new Promise((done, fail) => {
    let text = '';
    child[stream].on('data', (piece) => {
      text += piece;
      const found = new RegExp(`${word} (\\S+)`).exec(text);
      if (found) done({ address: found[1], base: new URL(found[1]).origin, child, end: () => child.kill('SIGINT'), ended });
    });
    child.on('exit', (code) => fail(new Error(`${words[0]} ended with ${code}: ${text}`)));
  });
}

// Nodes on a grid of places, in two halves with opposite slopes.
export function synthetic(nodes, rows) {
  const lines = ['node,lat,lon,x,y'];
  const side = Math.ceil(Math.sqrt(nodes));
  for (let i = 0; i < nodes; i++) {
    for (let r = 0; r < rows; r++) {
      const x = Math.sin(i * 7.1 + r * 3.3);
      const slope = i % side < side / 2 ? 1 : -1;
      lines.push(`n${i},${(60 + (i % side) * 0.05).toFixed(4)},${(20 + Math.floor(i / side) * 0.1).toFixed(4)},${x.toFixed(4)},${(slope * x + 0.2 * Math.sin(i * 13 + r * 17)).toFixed(4)}`);
    }
  }
  return lines.join('\n') + '\n';
}

export const shot = (page, name) => (shots ? page.screenshot({ path: join(shots, `${name}.png`), fullPage: true }) : null);

const axe = () => readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// No serious fault, by the rules of axe.
export async function accessible(page, where) {
  await page.evaluate(axe() + ';0');
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const serious = found.violations.filter((fault) => ['serious', 'critical'].includes(fault.impact));
  assert.deepEqual(serious.map((fault) => `${fault.id}: ${fault.nodes.slice(0, 3).map((node) => node.html).join(' | ')}`), [], where);
}

// Moves lambda to a place of the slider; milliseconds until the page shows the models.
export const slid = (page, step) => page.evaluate(async (value) => {
  const [slider, told] = ['s-slider', 's-told'].map((id) => document.getElementById(id));
  delete told.dataset.ms;
  slider.value = value;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  while (told.dataset.ms === undefined) await new Promise((done) => { setTimeout(done, 5); });
  return Number(told.dataset.ms);
}, step);

export async function fitted(page) {
  await page.locator('#s-fit:enabled').click();
  await page.waitForSelector('#s-slider:visible', { timeout: 60000 });
  await page.waitForSelector('#table tbody button.name');
}

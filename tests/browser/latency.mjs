// How long people wait: the table of docs/guide/studio.md. Run it on a quiet machine, with the program built:
//   node tests/browser/latency.mjs
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from './pages.mjs';
import { absent, fitted, slid, started, synthetic } from './program.mjs';

if (absent) throw new Error(absent);
const folder = mkdtempSync(join(tmpdir(), 'fedweave-latency-'));
writeFileSync(join(folder, 'small.csv'), synthetic(200, 8));
const large = Buffer.from(synthetic(5000, 3));
const browser = await launch();

// Milliseconds of one thing, several times: the middle one and the slowest.
function row(what, times) {
  times.sort((a, b) => a - b);
  const [middle, most] = [times[times.length >> 1], times.at(-1)].map((ms) => `${Math.round(ms)} ms`);
  console.log(`| ${what} | ${middle} | ${most} | ${times.length} |`);
}

async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const opened = (page, name) => page.waitForFunction((table) => document.getElementById('s-table').textContent.startsWith(table)
  && document.getElementById('s-result').dataset.picture && !document.getElementById('s-counts').textContent.startsWith('0'), name);

async function repeated(count, work) {
  const times = [];
  for (let k = 0; k < count; k++) times.push(await work(k));
  return times;
}

async function studio() {
  const run = await started('open', ['studio', folder], folder);
  const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
  await page.goto(run.address);
  await page.locator('#s-files').selectOption('small.csv');
  await opened(page, 'small.csv');
  await fitted(page);
  await slid(page, 400);
  row('lambda moved, 200 nodes: models and page follow', await repeated(60, (k) => slid(page, 150 + ((k * 277) % 700))));
  row('a node clicked, 200 nodes: who shaped it', await repeated(20, (k) => timed(async () => {
    const name = page.locator('#table tbody button.name').nth(k % 15);
    const node = await name.textContent();
    await name.click();
    await page.waitForFunction((words) => document.querySelector('#s-pulls h3')?.textContent === words, `Who shaped ${node}`);
  })));
  row('5,000 nodes dropped: network drawn', await repeated(3, (k) => timed(async () => {
    const before = await page.locator('#s-result').getAttribute('data-picture');
    await page.locator('#s-file').setInputFiles({ name: `large${k}.csv`, mimeType: 'text/csv', buffer: large });
    await page.waitForFunction((old) => document.getElementById('s-result').dataset.picture !== old, before);
  })));
  await page.locator('#s-lambda').fill('0.05');
  await page.locator('#s-lambda').press('Tab');
  await page.waitForFunction(() => document.getElementById('s-command').textContent.includes('--lambda 0.05'));
  row('5,000 nodes fitted, lambda given: report shown', await repeated(3, () => timed(async () => {
    const before = await page.locator('#s-result').getAttribute('data-picture');
    await page.locator('#s-fit:enabled').click();
    await page.waitForFunction((old) => document.getElementById('s-result').dataset.picture !== old, before, { timeout: 60000 });
  })));
  row('long work cancelled', await repeated(5, async () => {
    await page.locator('#s-compare:enabled').click();
    await page.waitForSelector('#s-cancel:visible');
    await page.waitForTimeout(700);
    return timed(async () => {
      await page.locator('#s-cancel').click();
      await page.waitForSelector('#s-cancel', { state: 'hidden', timeout: 60000 });
    });
  }));
  run.end();
}

// A part of three is killed: until the page says so.
async function killed() {
  const rows = join(folder, 'small.csv');
  const up = ['up', rows, '--knn', '3', '--by', 'lat,lon', '--features', 'x', '--target', 'y', '--lambda', '0.1', '--parts', '3', '--rounds', '5000000', '--watch'];
  const run = await started('watch', up, folder, 'stderr');
  const page = await (await browser.newContext()).newPage();
  await page.goto(run.address);
  await page.waitForFunction(() => {
    const all = [...document.querySelectorAll('#w-rows tr')];
    return all.length === 3 && all.every((part) => part.children[1].textContent === 'in rounds');
  }, null, { timeout: 60000 });
  const { pid } = run.child;
  const [part] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  const took = await timed(async () => {
    execFileSync('kill', ['-9', part]);
    await page.waitForSelector('#w-rows tr.lost', { timeout: 30000 });
  });
  run.end();
  await run.ended;
  return took;
}

console.log('| what | median | slowest | times |\n|---|---|---|---|');
await studio();
row('`up --watch`, three parts, one killed: shown', await repeated(5, killed));
await browser.close();
rmSync(folder, { recursive: true });

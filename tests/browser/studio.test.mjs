// The studio in a real browser: drop a file, choose, fit, move lambda, click a node, cancel, reload, two tabs, bad files, wrong keys.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch, overflow, root } from './pages.mjs';
import { absent, accessible, fitted, program, shot, slid, started, synthetic } from './program.mjs';

const houses = join(root, 'data', 'sacramento.csv');
let folder;
let browser;
let studio;

const start = (path) => started('open', ['studio', path], folder);

// Opens the studio, runs the check, and fails on console errors and on requests to anybody else.
async function visit(options, check, address = studio.address) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !/422/.test(message.text())) troubles.push(message.text());
  });
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(studio.base) && !request.url().startsWith('data:')) troubles.push('request ' + request.url());
  });
  await page.goto(address);
  await check(page, context);
  await context.close();
  assert.deepEqual(troubles, []);
}

async function drop(page, name, text) {
  await page.locator('#s-file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
}

async function dropped(page, path) {
  const text = readFileSync(path, 'utf8');
  const transfer = await page.evaluateHandle(([name, cells]) => {
    const data = new DataTransfer();
    data.items.add(new File([cells], name, { type: 'text/csv' }));
    return data;
  }, ['sacramento.csv', text]);
  await page.dispatchEvent('#s-drop', 'drop', { dataTransfer: transfer });
}

const settled = (page, name = 'fit') => page.waitForFunction((what) => {
  const words = document.getElementById('s-words');
  return words && words.textContent.startsWith(`${what}: `) && document.getElementById('s-cancel').hidden;
}, name, { timeout: 60000 });

describe('studio', { skip: absent || false }, () => {
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fedweave-studio-test-'));
    writeFileSync(join(folder, 'small.csv'), synthetic(200, 8));
    browser = await launch();
    studio = await start(folder);
  });
  after(async () => {
    if (studio) studio.end();
    if (browser) await browser.close();
    rmSync(folder, { recursive: true });
  });

  it('a dropped file is drawn, fitted, moved and asked about, in two tabs and after a reload', () => visit({}, async (page, context) => {
    assert.equal(new URL(page.url()).search, '', 'the key is not left in the address');
    await dropped(page, houses);
    await page.waitForSelector('#net');
    assert.equal(await page.locator('#s-target').inputValue(), 'log10_price');
    assert.match(await page.locator('#s-counts').textContent(), /^68 nodes, \d+ edges, 932 rows/);
    const edges = async () => Number(/(\d+) edges/.exec(await page.locator('#s-counts').textContent())[1]);
    const before = await edges();
    await page.locator('#s-k').fill('2');
    await page.locator('#s-k').press('Tab');
    await page.waitForFunction((n) => !document.getElementById('s-counts').textContent.includes(`${n} edges`), before);
    assert.ok(await edges() < before, 'fewer neighbours, fewer edges');
    await accessible(page, 'before a fit');
    await fitted(page);
    await shot(page, 'fitted');
    const other = await context.newPage();
    await other.goto(studio.base);
    await other.waitForSelector('#table tbody button.name');
    assert.equal(await other.locator('#s-now').textContent(), await page.locator('#s-now').textContent());
    const command = await page.locator('#s-command').textContent();
    assert.match(command, /^fedweave fit sacramento.csv --knn 2 --by latitude,longitude /);
    const name = page.locator('#table tbody button.name').nth(3);
    const node = await name.textContent();
    await name.click();
    await page.waitForSelector('#s-pulls h3');
    assert.equal(await page.locator('#s-pulls h3').textContent(), `Who shaped ${node}`);
    const first = await page.locator('#s-now').textContent();
    await page.locator('#s-slider').focus();
    for (let k = 0; k < 20; k++) await page.keyboard.press('ArrowLeft');
    await page.waitForFunction((text) => document.getElementById('s-now').textContent !== text, first);
    await page.waitForFunction(() => document.getElementById('s-told').dataset.ms);
    await page.waitForFunction(() => / --lambda [\d.]+/.test(document.getElementById('s-command').textContent));
    await page.waitForFunction(() => document.getElementById('s-pulls').hidden === false);
    const now = await page.locator('#s-now').textContent();
    await other.waitForFunction((text) => document.getElementById('s-now').textContent === text, now);
    await page.reload();
    await page.waitForSelector('#table tbody button.name');
    assert.equal(await page.locator('#s-now').textContent(), now, 'what was moved stays moved');
    await accessible(page, 'after a fit');
  }));

  it('models of 200 nodes follow lambda in under 100 ms', () => visit({}, async (page) => {
    await page.locator('#s-files').selectOption('small.csv');
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('small.csv'));
    await fitted(page);
    const times = [];
    for (const step of [200, 300, 420, 500, 610, 700, 800, 650, 480, 350, 250]) {
      times.push(await slid(page, step));
    }
    times.sort((a, b) => a - b);
    console.log(`200 nodes: median ${times[5]} ms, most ${times.at(-1)} ms`);
    // The machine of a test may be busy: the bound of a quiet one is in docs/guide/studio.md.
    assert.ok(times[5] < 300, `${times}`);
  }));

  it('long work is cancelled and leaves what there was', () => visit({}, async (page) => {
    await drop(page, 'long.csv', synthetic(3000, 12));
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('long.csv'));
    await page.locator('#s-compare:enabled').click();
    await page.locator('#s-cancel').click();
    await settled(page, 'compare');
    assert.match(await page.locator('#s-words').textContent(), /cancelled; nothing has changed/);
    assert.ok(await page.locator('#s-fit').isEnabled());
  }));

  it('5,000 nodes are fitted, and any of them can be asked about', () => visit({}, async (page) => {
    await drop(page, 'large.csv', synthetic(5000, 3));
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('large.csv'));
    await page.locator('#s-lambda').fill('0.05');
    await page.locator('#s-lambda').press('Tab');
    await page.waitForFunction(() => document.getElementById('s-command').textContent.includes('--lambda 0.05'));
    await fitted(page);
    const pulls = await page.evaluate(() => fetch('/node?name=n4999').then((answer) => answer.json()));
    assert.ok(pulls.degree >= 5);
    assert.equal(await page.locator('#count').textContent(), '5,000 nodes');
    await page.locator('#search').fill('n4999');
    assert.deepEqual(await page.locator('#table tbody button.name').allTextContents(), ['n4999']);
    await shot(page, 'large');
  }));

  it('bad files are refused with a reason, and the page goes on', () => visit({}, async (page) => {
    await drop(page, 'bad.csv', 'node,x,y\na,1\n');
    await page.waitForSelector('#s-problem:visible');
    const words = await page.locator('#s-problem').textContent();
    assert.match(words, /^bad.csv:2: /);
    await drop(page, 'picture.png', Buffer.from([137, 80, 78, 71, 0, 1, 2, 255]));
    await page.waitForFunction((text) => document.getElementById('s-problem').textContent !== text, words);
    await page.locator('#s-files').selectOption('small.csv');
    await page.waitForSelector('#s-problem', { state: 'hidden' });
  }));

  it('a comparison shows whether the network helps', () => visit({}, async (page) => {
    await page.locator('#s-files').selectOption('small.csv');
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('small.csv'));
    await page.locator('#s-compare:enabled').click();
    await page.waitForSelector('#comparison', { timeout: 120000 });
    await settled(page, 'compare');
    assert.match(await page.locator('#s-words').textContent(), /^compare: to fit .*: fedweave fit \S*small.csv/);
  }));

  it('learns the graph, calibrates intervals, and protects rows', () => visit({}, async (page) => {
    await page.locator('#s-files').selectOption('small.csv');
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('small.csv'));
    const says = (words) => page.waitForFunction((text) => document.getElementById('s-command').textContent.includes(text), words);
    await page.locator('#s-edges').selectOption('learn');
    await says('--graph learn --degree 4');
    await page.waitForFunction(() => /graph learnt from rows by pooled-fit/.test(document.getElementById('s-notices').textContent), null, { timeout: 60000 });
    const edges = await page.locator('#s-counts').textContent();
    await page.locator('#s-degree').fill('2');
    await page.locator('#s-degree').press('Tab');
    await page.waitForFunction((before) => document.getElementById('s-counts').textContent !== before, edges, { timeout: 60000 });
    await fitted(page);
    await shot(page, 'learnt');
    await page.locator('#s-edges').selectOption('knn');
    await page.locator('#s-calibrate').check();
    await says('--calibrate 10');
    await page.locator('#s-fit:enabled').click();
    await page.waitForSelector('#calibration', { timeout: 120000 });
    await page.locator('#s-epsilon').fill('4');
    await page.locator('#s-epsilon').press('Tab');
    await page.waitForSelector('#s-ranges:visible');
    await page.waitForFunction(() => document.getElementById('s-problem').textContent.includes('--lambda'));
    await page.locator('#s-lambda').fill('0.1');
    await page.locator('#s-ranges').fill('x=-1:1\ny=-2:2');
    await page.locator('#s-ranges').press('Tab');
    await says('--dp-epsilon 4');
    await page.waitForSelector('#s-problem', { state: 'hidden' });
    await page.locator('#s-fit:enabled').click();
    await page.waitForFunction(() => /epsilon/.test(document.querySelector('.notices')?.textContent || ''), null, { timeout: 60000 });
    assert.match(await page.locator('#s-told').textContent(), /cannot be moved: every further look/);
    assert.match(await page.locator('#s-python').textContent(), /dp-epsilon/);
    await accessible(page, 'with a privacy budget');
    await shot(page, 'private');
  }));

  it('attacks, and says how by hand', () => visit({}, async (page) => {
    await page.locator('#s-files').selectOption('small.csv');
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('small.csv'));
    await page.waitForFunction(() => document.getElementById('s-epsilon').value === '' && document.getElementById('s-lambda').value === '');
    await page.waitForSelector('#net');
    await page.locator('#s-lambda').fill('0.05');
    await page.locator('#s-lambda').press('Tab');
    await page.waitForFunction(() => document.getElementById('s-command').textContent.includes('--lambda 0.05'));
    await page.locator('#s-budget').fill('many');
    await page.locator('#s-go-attack:enabled').click();
    assert.match(await page.locator('#s-problem').textContent(), /nodes at most: "many"/);
    await page.locator('#s-budget').fill('3');
    await page.locator('#s-victim').fill('n7');
    await page.locator('#s-raise').fill('50 %');
    await page.locator('#s-go-attack:enabled').click();
    await page.waitForSelector('#s-attacked table', { timeout: 60000 });
    const command = await page.locator('#s-attacked pre').textContent();
    assert.match(command, /^fedweave attack \S+small.csv .*--kind label --victim n7 --budget 3 --raise 0.5$/);
    const told = execFileSync(program, command.split(' ').slice(1), { cwd: folder, encoding: 'utf8' });
    assert.equal(told.split('\n')[0], await page.locator('#s-attacked p').textContent());
    const rows = await page.locator('#s-attacked tbody tr').allTextContents();
    const cells = (line) => line.trim().split(/ {2,}/).join('');
    assert.deepEqual(rows, told.split('\n').slice(2, 2 + rows.length).map(cells));
    for (const line of await page.locator('#s-attacked li').allTextContents()) assert.ok(told.includes(line), line);
    await accessible(page, 'after an attack');
    await shot(page, 'attacked');
    await page.reload();
    await page.waitForSelector('#s-attacked table');
    await page.locator('#s-edges').selectOption('learn');
    await page.waitForSelector('#s-attacked', { state: 'hidden' });
    await page.locator('#s-go-attack:enabled').click();
    await page.waitForFunction(() => document.getElementById('s-words').textContent.includes('attacks want edges that are given'));
  }));

  it('reads semicolons, decimal commas and names of any kind', () => visit({}, async (page) => {
    const rows = synthetic(12, 8).split('\n').filter(Boolean).map((line) => line.split(','));
    rows[0] = ['Hospital Name', 'lat', 'lon', 'BMI kg/m²', 'LOS days'];
    const cells = rows.map((row, k) => (k ? row.map((cell, j) => (j ? cell.replace('.', ',') : `St. Märien ${cell}`)) : row));
    await drop(page, 'Häuser.csv', cells.map((row) => row.join(';')).join('\r\n'));
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('Häuser.csv'));
    assert.match(await page.locator('#s-warnings').textContent(), /separated by semicolons.*decimal points/);
    assert.equal(await page.locator('#s-target').inputValue(), 'LOS days');
    assert.match(await page.locator('#s-counts').textContent(), /^12 nodes, \d+ edges, 96 rows/);
    await fitted(page);
    assert.match(await page.locator('#s-command').textContent(), /^fedweave fit Häuser.csv .*--node 'Hospital Name' --target 'LOS days'/);
    assert.match(await page.locator('#s-python').textContent(), /sep=";", decimal=","/);
  }));

  it('guesses the nodes by their places, and the loss by the target', () => visit({}, async (page) => {
    const rows = synthetic(12, 8).split('\n').filter(Boolean).map((line) => line.split(','));
    const text = rows.map(([node, lat, lon, x, y], k) => (k ? [Number(node.slice(1)), lat, lon, k % 2 ? 'm' : 'f', x, y, y > 0 ? 'yes' : 'no'] : ['Practice', 'lat', 'lon', 'Sex', 'x', 'y', 'Back']).join(',')).join('\n');
    await drop(page, 'practices.csv', text);
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('practices.csv'));
    assert.equal(await page.locator('#s-node').inputValue(), 'Practice');
    assert.match(await page.locator('#s-counts').textContent(), /^12 nodes/);
    await page.locator('#s-target').selectOption('Back');
    await page.waitForFunction(() => document.getElementById('s-command').textContent.includes('--target Back'));
    assert.equal(await page.locator('#s-loss').inputValue(), 'logistic');
    await fitted(page);
    await page.locator('#s-target').selectOption('y');
    await page.waitForFunction(() => document.getElementById('s-command').textContent.includes('--target y'));
    assert.equal(await page.locator('#s-loss').inputValue(), 'squared');
  }));

  it('works by keyboard alone', () => visit({}, async (page) => {
    await page.locator('#s-files').selectOption('small.csv');
    await page.waitForFunction(() => document.getElementById('s-table').textContent.startsWith('small.csv'));
    const focused = () => page.evaluate(() => document.activeElement.id);
    const tabTo = async (id) => {
      for (let k = 0; k < 60 && await focused() !== id; k++) await page.keyboard.press('Tab');
      assert.equal(await focused(), id);
    };
    await page.waitForSelector('#s-fit:enabled');
    await tabTo('s-fit');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#s-slider:visible', { timeout: 60000 });
    await page.waitForSelector('#table tbody button.name');
    await tabTo('s-slider');
    const before = await page.locator('#s-now').textContent();
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction((text) => document.getElementById('s-now').textContent !== text, before);
  }));

  for (const [width, colorScheme] of [[390, 'light'], [390, 'dark'], [1400, 'dark']]) {
    it(`fits ${width} px, ${colorScheme}`, () => visit({ viewport: { width, height: 844 }, colorScheme }, async (page) => {
      await page.waitForSelector('#table tbody button.name');
      assert.equal(await overflow(page), 0);
      await shot(page, `${width}-${colorScheme}`);
      await accessible(page, `${width} px, ${colorScheme}`);
    }));
  }

  it('exports the run folder and the report', () => visit({}, async (page) => {
    await page.waitForSelector('#table tbody button.name');
    await page.locator('#s-out').fill('kept');
    await page.locator('#s-export:enabled').click();
    await settled(page, 'export');
    assert.ok(existsSync(join(folder, 'kept', 'parameters.csv')), await page.locator('#s-words').textContent());
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#s-report').click()]);
    assert.equal(download.suggestedFilename(), 'report.html');
  }));

  it('a wrong key is answered by a page that says what to do', async () => {
    const answer = await fetch(`${studio.base}/?token=wrong`);
    assert.equal(answer.status, 403);
    assert.match(await answer.text(), /Open the address that <code>fedweave studio<\/code> printed/);
  });

  it('no other site can start work', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(studio.address);
    await page.waitForSelector('#s-fit', { state: 'attached' });
    // Another port of this machine is another site, whose requests bring the cookies of this one.
    const evil = await start(folder);
    await page.goto(evil.address);
    const outcome = await page.evaluate(async (base) => {
      const tries = [
        fetch(`${base}/fit`, { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }),
        fetch(`${base}/cancel`, { method: 'POST', credentials: 'include' }),
      ];
      return (await Promise.allSettled(tries)).map((one) => one.status);
    }, studio.base);
    assert.deepEqual(outcome, ['rejected', 'rejected'], 'the policy of the page does not even let it ask');
    const key = new URL(studio.address).searchParams.get('token');
    const cookie = `fedweave-studio-${new URL(studio.base).port}=${key}`;
    for (const headers of [{ cookie, origin: evil.base }, { cookie, 'sec-fetch-site': 'same-site' }, { cookie }]) {
      const answer = await fetch(`${studio.base}/fit`, { method: 'POST', headers });
      assert.equal(answer.status, 403);
    }
    const state = await fetch(`${studio.base}/state`, { headers: { cookie } }).then((answer) => answer.json());
    assert.notEqual(state.work && state.work.running, true);
    evil.end();
    await context.close();
  });
});

// A run that is watched, in a real browser: facts while it runs, parts of a federation, the report at the end.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch, overflow } from './pages.mjs';
import { absent, accessible, shot, started } from './program.mjs';

let folder;
let browser;

function table(nodes) {
  const lines = ['node,x,y'];
  for (let i = 0; i < nodes; i++) {
    for (let r = 0; r < 6; r++) {
      const x = Math.sin(i * 7.1 + r * 3.3);
      lines.push(`n${i},${x.toFixed(4)},${((i < nodes / 2 ? 1 : -1) * x + 0.1 * Math.sin(i * 13 + r * 17)).toFixed(4)}`);
    }
  }
  return lines.join('\n') + '\n';
}

const chain = (nodes) => 'source,target\n' + Array.from({ length: nodes - 1 }, (_, i) => `n${i},n${i + 1}\n`).join('');

const start = (...words) => started('watch', [...words, '--watch'], folder, 'stderr');

async function visit(run, options, check) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) troubles.push(message.text()); });
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('request', (request) => { if (!request.url().startsWith(run.base) && !request.url().startsWith('data:')) troubles.push(request.url()); });
  await page.goto(run.address);
  await check(page);
  await context.close();
  assert.deepEqual(troubles, []);
}

describe('watch', { skip: absent || false }, () => {
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fedweave-watch-test-'));
    writeFileSync(join(folder, 'rows.csv'), table(40));
    writeFileSync(join(folder, 'chain.csv'), chain(40));
    browser = await launch();
  });
  after(async () => {
    if (browser) await browser.close();
    rmSync(folder, { recursive: true });
  });

  it('a fit shows the solver, then its report, which stays when the program has gone', async () => {
    const run = await start('fit', 'rows.csv', '--edges', 'chain.csv', '--target', 'y', '--lambda', '0.1', '--penalty', 'squared', '--solver', 'fedgd', '--rounds', '20000000');
    await visit(run, {}, async (page) => {
      await page.waitForFunction(() => /Objective/.test(document.getElementById('w-facts').textContent));
      await page.waitForSelector('#convergence svg');
      assert.match(await page.locator('#w-status').textContent(), /^Running/);
      await accessible(page);
      await shot(page, 'watch-fit');
      run.end();
      await page.waitForSelector('#net', { timeout: 30000 });
      await run.ended;
      assert.ok(await page.locator('#w-gone').isHidden(), 'the end is no alarm');
      await page.waitForFunction(() => document.querySelectorAll('#table tbody button.name').length > 0);
      await shot(page, 'watch-ended');
    });
  });

  for (const [width, colorScheme] of [[390, 'dark'], [1400, 'light']]) {
    it(`a federation shows its parts, ${width} px, ${colorScheme}`, async () => {
      const run = await start('up', 'rows.csv', '--edges', 'chain.csv', '--target', 'y', '--lambda', '0.1', '--parts', '3', '--rounds', '5000000');
      await visit(run, { viewport: { width, height: 844 }, colorScheme }, async (page) => {
        await page.waitForFunction(() => {
          const rows = [...document.querySelectorAll('#w-rows tr')];
          return rows.length === 3 && rows.every((row) => row.children[1].textContent === 'in rounds');
        }, null, { timeout: 30000 });
        assert.equal(await page.locator('#w-what').textContent(), 'A federation of 3 parts');
        await page.waitForFunction(() => parseFloat(document.querySelector('#w-facts strong').textContent) > 0);
        assert.equal(await overflow(page), 0);
        await accessible(page);
        await shot(page, `watch-up-${width}`);
        run.end();
        await page.waitForFunction(() => document.getElementById('w-status').classList.contains('bad'), null, { timeout: 30000 });
        assert.match(await page.locator('#w-status').textContent(), /interrupted/);
        await run.ended;
      });
    });
  }
});

// What the tests of the pages share: a browser, the sample pages, and a visit that fails on any console error or request.
// FEDWEAVE_SAMPLES may name a folder with sample pages already made.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const executable = process.env.CHROMIUM || '/usr/bin/chromium';
const library = await import('playwright-core').catch(() => null);
export const missing = !existsSync(executable) ? `no browser at ${executable}` : library ? '' : 'playwright-core is not installed';
if (missing) {
  console.log(`skipped: ${missing}`);
  test('report pages in a browser', { skip: missing });
}

const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

let browser;
let folder = process.env.FEDWEAVE_SAMPLES;
let made;

function makeSamples() {
  made = mkdtempSync(join(tmpdir(), 'fedweave-report-'));
  execFileSync('cargo', ['run', '--release', '--quiet', '-p', 'fedweave-report', '--example', 'sample', '--', made], { cwd: root, stdio: 'inherit' });
  return made;
}

export const launch = () => library.chromium.launch({ executablePath: executable, args: flags });

export async function open() {
  folder = folder || makeSamples();
  browser = await launch();
}

export async function close() {
  if (browser) await browser.close();
  if (made) rmSync(made, { recursive: true });
}

export const sample = (file) => join(folder, file);

// Opens a page, runs the check, and fails on any console error or request.
export async function visit(name, options, check) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles = [];
  const address = pathToFileURL(join(folder, name + '.html')).href;
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) troubles.push(message.text()); });
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('request', (request) => {
    if (request.url() !== address && !request.url().startsWith('data:')) troubles.push('request ' + request.url());
  });
  await page.goto(address);
  await check(page);
  await context.close();
  assert.deepEqual(troubles, []);
}

export const texts = (page, selector) => page.locator(selector).allTextContents();
export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

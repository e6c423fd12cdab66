import { type BrowserContext, chromium, type Page } from 'playwright-core';
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Program } from '../support/program.js';
import { findChromium } from './find-chromium.js';

// Uses Swagger UI at /docs as people do, in a real browser, on the built program.
// With --screenshots it also takes the pictures of the documents anew.

const TOKEN = 'correct-horse-battery-staple';
const WIDE = { width: 1000, height: 700 };
const NARROW = { width: 360, height: 700 };
const MOST_TABS = 60;

const takesPictures = process.argv.includes('--screenshots');
const executablePath = findChromium();
if (executablePath === undefined) {
  process.stderr.write(
    'The browser test needs Chromium: install it (Debian: apt-get install chromium), or set CHROMIUM to its path\n',
  );
  process.exit(1);
}

// Chromium refuses to run as root with its sandbox.
const browser = await chromium.launch({
  executablePath,
  chromiumSandbox: process.getuid?.() !== 0,
});

let folder: string;
let program: Program;
let origin: string;
let context: BrowserContext;
let page: Page;
/** What went wrong in the page, and whom else it called. */
let faults: string[];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-browser-'));
  const PORT = takesPictures ? '3000' : '0';
  program = Program.start(folder, { ACCESS_TOKENS: TOKEN, PORT });
  origin = await program.listening();
});

after(async () => {
  await browser.close();
  program.kill('SIGTERM');
  await program.exited();
  await rm(folder, { recursive: true });
});

beforeEach(async () => {
  faults = [];
  context = await browser.newContext({ viewport: WIDE });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') faults.push(`request to ${url.href}`);
  });
  context.on('requestfailed', (request) => faults.push(`no answer from ${request.url()}`));
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('console', (message) => {
    // Chromium itself reports every answer of 4xx, and those to /plants are what is asked for here.
    const isRowError = message.location().url === `${origin}/plants`;
    if (['error', 'warning'].includes(message.type()) && !isRowError) faults.push(message.text());
  });
  page = await context.newPage();
  await page.goto(`${origin}/docs`);
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(faults, []);
});

describe('Swagger UI in a browser', () => {
  it('creates the plant that it suggests, once authorized', async () => {
    await authorize();
    await execute();
    assert.deepEqual(await answer(), { status: '200', body: { name: 'Monstera', tag: 'indoor' } });
    await takePicture('swagger-ui');
  });

  it('sends an id as it was typed, beyond the integers that JavaScript has', async () => {
    await authorize();
    const body = '{"id": 9007199254740993, "name": "Ficus"}';
    await fillBody(body);
    const request = page.waitForRequest(`${origin}/plants`);
    await execute();
    assert.equal((await request).postData(), body);
    assert.equal((await answer()).status, '200');
  });

  it('shows the Error of a request without a token', async () => {
    await openOperation();
    await execute();
    assert.deepEqual(await answer(), {
      status: '401',
      body: {
        error: 40100,
        message:
          'A bearer token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>"',
      },
    });
  });

  it('shows the Error of a body that is not valid', async () => {
    await authorize();
    await fillBody('{"id": 2}');
    await execute();
    assert.deepEqual(await answer(), {
      status: '400',
      body: { error: 40002, message: 'The body is not valid: name is missing' },
    });
  });

  it('shows every error that is documented, shared ones too', async () => {
    await openOperation();
    const shown = await page.locator('.responses-inner').innerText();
    for (const code of ['40000', '40002', '40100', '40901', '41300', '50300']) {
      assert.ok(shown.includes(`${code}: `), `${code} is not shown`);
    }
  });

  it('is used with the keyboard alone', async () => {
    await tabTo('.btn.authorize');
    await page.keyboard.press('Enter');
    // The dialog takes the focus itself.
    await page.locator('#auth-bearer-value:focus').waitFor();
    await page.keyboard.type(TOKEN);
    await tabTo('.modal-btn.authorize');
    await page.keyboard.press('Enter');
    await tabTo('.modal-btn.btn-done');
    await page.keyboard.press('Enter');
    await tabTo('.opblock-summary-control');
    await page.keyboard.press('Enter');
    await tabTo('textarea');
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('{"id": 3, "name": "Fern"}');
    await tabTo('.execute');
    await page.keyboard.press('Enter');
    assert.deepEqual(await answer(), { status: '200', body: { name: 'Fern' } });
  });

  it('fits a narrow window: nothing lies beyond its edge', async () => {
    await page.setViewportSize(NARROW);
    await authorize();
    await fillBody('{"id": 4, "name": "Aloe"}');
    await execute();
    assert.deepEqual(await answer(), { status: '200', body: { name: 'Aloe' } });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.equal(width, NARROW.width);
    await takePicture('swagger-ui-narrow');
  });
});

async function authorize(): Promise<void> {
  await page.getByRole('button', { name: 'Authorize', exact: true }).click();
  await page.getByLabel('auth-bearer-value').fill(TOKEN);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
  await openOperation();
}

async function openOperation(): Promise<void> {
  await page.getByRole('button', { name: /^POST/ }).click();
}

async function fillBody(text: string): Promise<void> {
  await page.getByRole('textbox').fill(text);
}

async function execute(): Promise<void> {
  await page.getByRole('button', { name: 'Execute' }).click();
}

/** What the page shows as the server's answer. */
async function answer(): Promise<{ status: string; body: unknown }> {
  const row = page.locator('.live-responses-table tbody tr.response');
  const status = await row.locator('.response-col_status').innerText();
  const body = await row.locator('code.language-json').first().innerText();
  return { status: status.trim(), body: JSON.parse(body) as unknown };
}

/** Presses Tab until what the selector names has the focus. */
async function tabTo(selector: string): Promise<void> {
  await page.locator(selector).waitFor();
  for (let tabs = 0; tabs < MOST_TABS; tabs++) {
    await page.keyboard.press('Tab');
    if ((await page.locator(`${selector}:focus`).count()) > 0) return;
  }
  assert.fail(`${MOST_TABS} times Tab do not lead to ${selector}`);
}

/** Takes the operation, from its name down to the body of the answer. */
async function takePicture(name: string): Promise<void> {
  if (!takesPictures) return;
  const top = await page.locator('.opblock').boundingBox();
  const end = await page.locator('.live-responses-table .highlight-code').first().boundingBox();
  assert.ok(top !== null && end !== null);
  const scrolled = await page.evaluate(() => scrollY);
  await page.screenshot({
    path: `docs/images/${name}.png`,
    fullPage: true,
    animations: 'disabled',
    clip: {
      x: 0,
      y: top.y + scrolled,
      width: top.width + 2 * top.x,
      height: end.y + end.height - top.y + 10,
    },
  });
}

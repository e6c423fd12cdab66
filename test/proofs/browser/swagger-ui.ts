import {
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Program } from '../../support/program.js';
import { findChromium } from './find-chromium.js';

const TOKEN = 'correct-horse-battery-staple';
const WIDE = { width: 1000, height: 700 };
const PHONE = { viewport: { width: 360, height: 700 }, isMobile: true };
const MOST_TABS = 60;
/** No JavaScript number has these digits. */
const GREATEST_ID = '9223372036854775807';

const takesPictures = process.argv.includes('--screenshots');

// Chromium refuses to run as root with its sandbox.
const browser = await chromium.launch({
  executablePath: findChromium() ?? '',
  chromiumSandbox: process.getuid?.() !== 0,
});

let folder: string;
let program: Program;
let origin: string;
let context: BrowserContext;
let page: Page;
/** The errors of the page, and its calls of other hosts. */
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
  await open({ viewport: WIDE });
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(faults, []);
});

async function open(options: BrowserContextOptions): Promise<void> {
  context = await browser.newContext(options);
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') faults.push(`request to ${url.href}`);
  });
  context.on('requestfailed', (request) => faults.push(`no answer from ${request.url()}`));
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('console', (message) => {
    // Chromium reports every 4xx answer, and these tests expect those to /plants.
    const isRowError = message.location().url.startsWith(`${origin}/plants`);
    if (['error', 'warning'].includes(message.type()) && !isRowError) faults.push(message.text());
  });
  page = await context.newPage();
  await page.goto(`${origin}/docs`);
}

describe('Swagger UI in a browser', () => {
  it('creates the plant that it suggests, once authorized', async () => {
    await authorize();
    await openOperation('createPlant');
    await execute();
    assert.deepEqual(await answer(), { status: '200', body: { name: 'Monstera', tag: 'indoor' } });
    await takePicture('swagger-ui');
  });

  it('proposes another id once one is used, and leaves alone one that was typed', async () => {
    await authorize();
    await openOperation('createPlant');
    const bodies = [await send(), await send(), await send()].map((request) => request.postData());
    assert.equal(await shownStatus(), '200');
    assert.equal(new Set(bodies).size, bodies.length);
    assert.equal(await shownSentBody(), bodies.at(-1));

    const body = '{"id": 5, "name": "Typed"}';
    await fillBody(body);
    await send();
    assert.equal((await send()).postData(), body);
    assert.equal(await shownStatus(), '409');
  });

  it('has the whole life of a plant, with every digit of its id', async () => {
    await authorize();
    await openOperation('createPlant');
    const body = `{"id": ${GREATEST_ID}, "name": "Ficus"}`;
    await fillBody(body);
    assert.equal((await send()).postData(), body);
    assert.deepEqual(await answer(), { status: '200', body: { name: 'Ficus' } });
    assert.ok((await page.locator('.opblock.is-open .curl').innerText()).includes(GREATEST_ID));

    const path = `/plants/${GREATEST_ID}`;
    await openOperation('readPlant');
    await fillParameter('id', GREATEST_ID);
    assert.equal((await send()).url(), origin + path);
    assert.equal(await shownStatus(), '200');
    assert.equal(await shownBody(), `{\n  "id": ${GREATEST_ID},\n  "name": "Ficus"\n}`);
    const etag = await shownHeader('etag');
    assert.match(etag, /^"[\w-]{22}"$/);
    await fillParameter('If-None-Match', etag);
    await send();
    assert.equal(await shownStatus(), '304');

    await openOperation('listPlants');
    await fillParameter('limit', '1');
    await fillParameter('after', '9223372036854775806');
    assert.equal((await send()).url(), `${origin}/plants?limit=1&after=9223372036854775806`);
    assert.equal(await shownStatus(), '200');
    assert.equal(
      await shownBody(),
      `[\n  {\n    "id": ${GREATEST_ID},\n    "name": "Ficus"\n  }\n]`,
    );

    await openOperation('replacePlant');
    await fillParameter('id', GREATEST_ID);
    await fillParameter('If-Match', etag);
    await fillBody('{"name": "Ficus", "tag": "tall"}');
    const replace = await send();
    assert.equal(replace.url(), origin + path);
    assert.equal(replace.headers()['if-match'], etag);
    assert.deepEqual(await answer(), { status: '200', body: { name: 'Ficus', tag: 'tall' } });

    await openOperation('removePlant');
    await fillParameter('id', GREATEST_ID);
    await fillParameter('If-Match', etag);
    await send();
    assert.deepEqual(await answer(), {
      status: '412',
      body: { error: 41200, message: 'If-Match does not have the current ETag' },
    });
    await fillParameter('If-Match', '*');
    assert.equal((await send()).url(), origin + path);
    assert.equal(await shownStatus(), '204');
  });

  it('shows the Error of a request without a token', async () => {
    await openOperation('createPlant');
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
    await openOperation('createPlant');
    await fillBody('{"id": 2}');
    await execute();
    assert.deepEqual(await answer(), {
      status: '400',
      body: { error: 40002, message: 'The body is not valid: name is missing' },
    });
  });

  it('shows every error that is documented, shared ones too', async () => {
    await openOperation('createPlant');
    const failures = page.locator('.opblock.is-open .failures');
    assert.ok(!(await failures.locator('table').isVisible()), 'they are not folded');
    await failures.locator('summary').click();
    const shown = await failures.innerText();
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
    await tabTo('[id$=createPlant] .opblock-summary-control');
    await page.keyboard.press('Enter');
    await tabTo('textarea');
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('{"id": 3, "name": "Fern"}');
    await tabTo('.execute');
    await page.keyboard.press('Enter');
    assert.deepEqual(await answer(), { status: '200', body: { name: 'Fern' } });
  });

  it('shows an operation on about one screen', async () => {
    await openOperation('createPlant');
    await page.locator('.opblock.is-open .failures').waitFor();
    const box = await page.locator('.opblock.is-open').boundingBox();
    assert.ok(box !== null && box.height < 1.1 * WIDE.height, `it is ${box?.height} pixels tall`);
  });

  it('is dark for users who prefer that', async () => {
    const dark = page.locator('html.dark-mode');
    assert.equal(await dark.count(), 0);
    await page.emulateMedia({ colorScheme: 'dark' });
    await dark.waitFor();
  });

  it('fits a phone: nothing exceeds its width or covers an answer', async () => {
    await context.close();
    await open(PHONE);
    await openOperation('createPlant');
    await execute();
    assert.equal(await shownStatus(), '401');
    assert.deepEqual(await coveredText(), []);
    await authorize();
    await fillBody('{"id": 4, "name": "Aloe"}');
    await send();
    assert.deepEqual(await answer(), { status: '200', body: { name: 'Aloe' } });
    assert.deepEqual(await coveredText(), []);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.equal(width, PHONE.viewport.width);
    await takePicture('swagger-ui-narrow');
  });
});

async function authorize(): Promise<void> {
  await page.getByRole('button', { name: 'Authorize', exact: true }).click();
  await page.getByLabel('auth-bearer-value').fill(TOKEN);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
}

/** Opens an operation, and closes the one that is open. */
async function openOperation(operationId: string): Promise<void> {
  const open = page.locator('.opblock.is-open .opblock-summary-control');
  if ((await open.count()) > 0) await open.click();
  await open.waitFor({ state: 'detached' });
  await page.locator(`#operations-plants-${operationId} .opblock-summary-control`).click();
}

async function fillBody(text: string): Promise<void> {
  await page.locator('.opblock.is-open .body-param textarea').fill(text);
}

async function fillParameter(name: string, text: string): Promise<void> {
  await page.locator(`.opblock.is-open tr[data-param-name="${name}"] input`).fill(text);
}

async function execute(): Promise<void> {
  await page.locator('.opblock.is-open .execute').click();
}

/** Executes the open operation, and waits until the page shows the status of the answer. */
async function send(): Promise<Request> {
  const answered = page.waitForResponse(`${origin}/plants**`);
  await execute();
  const response = await answered;
  const status = shownAnswer().locator('.response-col_status');
  await status.filter({ hasText: String(response.status()) }).waitFor();
  return response.request();
}

/** Reads the answer of the server that the page shows. */
async function answer(): Promise<{ status: string; body: unknown }> {
  return { status: await shownStatus(), body: JSON.parse(await shownBody()) as unknown };
}

function shownAnswer(): Locator {
  return page.locator('.opblock.is-open .live-responses-table tbody tr.response');
}

async function shownStatus(): Promise<string> {
  const status = await shownAnswer().locator('.response-col_status').innerText();
  return /\d+/.exec(status)?.[0] ?? status;
}

async function shownBody(): Promise<string> {
  return await shownAnswer().locator('code.language-json').first().innerText();
}

/** Reads the body in the text area. */
async function shownSentBody(): Promise<string> {
  return await page.locator('.opblock.is-open .body-param textarea').inputValue();
}

/** Finds the text of the answer that a button covers. */
async function coveredText(): Promise<string[]> {
  return await page.evaluate(() => {
    const buttons = [...document.querySelectorAll('.opblock.is-open .responses-wrapper button')];
    const texts = document.querySelectorAll('.opblock.is-open .responses-wrapper pre');
    return [...texts].flatMap((text) => {
      const range = document.createRange();
      range.selectNodeContents(text);
      const lines = [...range.getClientRects()].filter(({ width }) => width > 0);
      const isCovered = buttons
        .map((button) => button.getBoundingClientRect())
        .some((button) =>
          lines.some(
            (line) =>
              line.left < button.right &&
              line.right > button.left &&
              line.top < button.bottom &&
              line.bottom > button.top,
          ),
        );
      return isCovered ? [text.textContent] : [];
    });
  });
}

async function shownHeader(name: string): Promise<string> {
  const headers = await shownAnswer().locator('.headerline').allInnerTexts();
  const line = headers.find((header) => header.trim().startsWith(`${name}:`)) ?? '';
  return line
    .trim()
    .slice(name.length + 1)
    .trim();
}

/** Presses Tab until the element of the selector has the focus. */
async function tabTo(selector: string): Promise<void> {
  await page.locator(selector).waitFor();
  for (let tabs = 0; tabs < MOST_TABS; tabs++) {
    await page.keyboard.press('Tab');
    if ((await page.locator(`${selector}:focus`).count()) > 0) return;
  }
  assert.fail(`${MOST_TABS} times Tab do not lead to ${selector}`);
}

/** Takes a picture of the operation, from its name down to the body of the answer. */
async function takePicture(name: string): Promise<void> {
  if (!takesPictures) return;
  const top = await page.locator('.opblock.is-open').boundingBox();
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
      height: end.y + end.height - top.y + 4,
    },
  });
}

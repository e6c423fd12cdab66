import {
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import ts from 'typescript';
import { ProgramFolder } from '../../support/program.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';

/** How long the browser may take for a step, in milliseconds: only a hang lasts longer. */
const STEP_MS = 240_000;
/** No JavaScript number has these digits. */
const GREATEST_ID = '9223372036854775807';

// The browser that CHROMIUM names, or the first of the usual ones on the PATH.
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const [found] = spawnSync('which', names, { encoding: 'utf8' }).stdout.split('\n');
const executablePath = process.env.CHROMIUM ?? found;
assert.ok(executablePath, 'Chromium is not installed, and CHROMIUM names none');

// Chromium refuses to run as root with its sandbox.
const browser = await chromium.launch({
  executablePath,
  chromiumSandbox: process.getuid?.() !== 0,
  timeout: STEP_MS,
});

let folder: ProgramFolder;
let origin: string;
let context: BrowserContext;
let page: Page;
/** The errors of the page, and its calls of other hosts. */
let faults: string[];

before(async () => {
  folder = await ProgramFolder.create();
  origin = await folder.serve().listening();
});

after(async () => {
  await browser.close();
  await folder.remove();
});

beforeEach(async () => {
  faults = [];
  await open();
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(faults, []);
});

async function open(): Promise<void> {
  context = await browser.newContext();
  context.setDefaultTimeout(STEP_MS);
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') faults.push(`request to ${url.href}`);
  });
  context.on('requestfailed', (request) => {
    // The browser itself gives up an icon that is under way when a page is left.
    const isGivenUp = request.failure()?.errorText === 'net::ERR_ABORTED';
    if (!isGivenUp) faults.push(`no answer from ${request.url()}`);
  });
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
    await send();
    const body = '{\n  "name": "Monstera",\n  "tag": "indoor"\n}';
    assert.deepEqual(await readAnswer(), { status: '200', body });
  });

  it('suggests a plant with the members in the order of the contract, and each time with a new id', async () => {
    const suggested: string[] = [];
    for (let visit = 0; visit < 2; visit++) {
      await authorize();
      await openOperation('createPlant');
      const body = await page.locator('.opblock.is-open .body-param textarea').inputValue();
      assert.deepEqual(Object.keys(JSON.parse(body) as object), ['id', 'name', 'tag']);
      assert.equal((await send()).postData(), body);
      assert.equal((await readAnswer()).status, '200');
      suggested.push(body);
      await context.close();
      await open();
    }
    assert.notEqual(suggested[0], suggested[1]);
  });

  it('signs in by a link, whose token it removes from the address and keeps in the tab alone', async () => {
    // The page is open already, so the browser does not load it again.
    await page.goto(`${origin}/docs#token=${TOKEN}`);
    await page.waitForURL(`${origin}/docs`);
    await openOperation('createPlant');
    await send();
    assert.equal((await readAnswer()).status, '200');
    await page.reload();
    await openOperation('listPlants');
    await send();
    assert.equal((await readAnswer()).status, '200');
    const stored = await page.evaluate('JSON.stringify({ ...localStorage })');
    assert.equal(stored, '{}');
    const signedOut = await context.newPage();
    await signedOut.goto(`${origin}/docs`);
    await signedOut.locator('.btn.authorize.unlocked').waitFor();
    const other = await context.newPage();
    await other.goto(`${origin}/docs#token=another`);
    await other.waitForURL(`${origin}/docs`);
    await other.locator('.btn.authorize.locked').waitFor();
    await other.goBack();
    assert.equal(other.url(), 'about:blank');
  });

  it('shows the versions, and neither a list of servers nor an empty column of links', async () => {
    await page
      .getByText(/^Version \d+\.\d+\.\d+ of the program serves version 1\.0\.0 of/)
      .waitFor();
    await openOperation('createPlant');
    assert.equal(await page.locator('.servers').isVisible(), false);
    assert.equal(
      await page.locator('.opblock.is-open .response-col_links').first().isVisible(),
      false,
    );
    const documented = page.locator('.opblock.is-open .responses-table:not(.live-responses-table)');
    await documented.locator('tr.response[data-code="default"]').getByText('50300: ').waitFor();
  });

  it('sends and shows every digit of an id', async () => {
    await authorize();
    await openOperation('createPlant');
    const body = `{"id": ${GREATEST_ID}, "name": "Ficus"}`;
    await page.locator('.opblock.is-open .body-param textarea').fill(body);
    assert.equal((await send()).postData(), body);
    assert.deepEqual(await readAnswer(), { status: '200', body: '{\n  "name": "Ficus"\n}' });
    assert.ok((await page.locator('.opblock.is-open .curl').innerText()).includes(GREATEST_ID));

    const path = `/plants/${GREATEST_ID}`;
    await openOperation('readPlant');
    await fillParameter('id', GREATEST_ID);
    assert.equal((await send()).url(), origin + path);
    const read = `{\n  "id": ${GREATEST_ID},\n  "name": "Ficus"\n}`;
    assert.deepEqual(await readAnswer(), { status: '200', body: read });

    await openOperation('listPlants');
    await fillParameter('limit', '1');
    await fillParameter('after', '9223372036854775806');
    assert.equal((await send()).url(), `${origin}/plants?limit=1&after=9223372036854775806`);
    const listed = `[\n  {\n    "id": ${GREATEST_ID},\n    "name": "Ficus"\n  }\n]`;
    assert.deepEqual(await readAnswer(), { status: '200', body: listed });
  });
});

it('the typed client imports plants from a page', async () => {
  const source = await readFile(
    new URL('../../../client/plant-store-client.ts', import.meta.url),
    'utf8',
  );
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  const plants = '[{ id: 71, name: "a" }, { id: 72, name: "b", tag: "🌿" }]';
  const imported: unknown = await page.evaluate(`(async () => {
    const exports = {};
    ${outputText}
    return await new exports.PlantStoreClient('${origin}', '${TOKEN}').importPlants(${plants});
  })()`);
  assert.deepEqual(imported, { created: 2, identical: 0, failed: 0, failures: [] });
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

async function fillParameter(name: string, text: string): Promise<void> {
  await page.locator(`.opblock.is-open tr[data-param-name="${name}"] input`).fill(text);
}

/** Executes the open operation, and waits until the page shows the status of the answer. */
async function send(): Promise<Request> {
  const answered = page.waitForResponse(`${origin}/plants**`);
  await page.locator('.opblock.is-open .execute').click();
  const response = await answered;
  const status = shownAnswer().locator('.response-col_status');
  await status.filter({ hasText: String(response.status()) }).waitFor();
  return response.request();
}

/** Reads the answer of the server that the page shows. */
async function readAnswer(): Promise<{ status: string | undefined; body: string }> {
  const status = await shownAnswer().locator('.response-col_status').innerText();
  const body = await shownAnswer().locator('code.language-json').first().innerText();
  return { status: /\d+/.exec(status)?.[0], body };
}

function shownAnswer(): Locator {
  return page.locator('.opblock.is-open .live-responses-table tbody tr.response');
}

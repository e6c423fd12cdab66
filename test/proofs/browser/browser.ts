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
import { parseArgs } from 'node:util';
import { ProgramFolder } from '../../support/program.js';
import { Proxy } from '../../support/proxies.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';

/** How long the browser may take for a step, in milliseconds: only a hang lasts longer. */
const STEP_MS = 240_000;
/** No JavaScript number has these digits. */
const GREATEST_ID = '9223372036854775807';

// --all makes the whole visit in each setting; without it, in one.
const { values } = parseArgs({
  args: process.argv.slice(3),
  options: { all: { type: 'boolean', default: false } },
});

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
/** The URL of the service: the origin, and the path prefix if there is one. */
let base: string;
let context: BrowserContext;
let page: Page;
/** The errors of the page, and its calls of other hosts. */
let faults: string[];

before(async () => {
  folder = await ProgramFolder.create();
  origin = await folder.serve().listening();
  base = origin;
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

async function open(url = origin, width = 1_280): Promise<void> {
  base = url;
  const viewport = { width, height: 800 };
  context = await browser.newContext({ viewport });
  context.setDefaultTimeout(STEP_MS);
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== new URL(base).origin && url.protocol !== 'data:')
      faults.push(`request to ${url.href}`);
  });
  context.on('requestfailed', (request) => {
    // The browser itself gives up an icon that is under way when a page is left.
    const isGivenUp = request.failure()?.errorText === 'net::ERR_ABORTED';
    if (!isGivenUp) faults.push(`no answer from ${request.url()}`);
  });
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('console', (message) => {
    // Chromium reports every 4xx answer, and these tests expect those to /plants.
    const isRowError = message.location().url.startsWith(`${base}/plants`);
    if (['error', 'warning'].includes(message.type()) && !isRowError) faults.push(message.text());
  });
  page = await context.newPage();
  await page.goto(`${base}/docs`);
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

/** How a visitor comes, and what follows from it. */
interface Visit {
  readonly what: string;
  readonly width: number;
  readonly signIn: 'by hand' | 'by a link';
  /** Whether a proxy removes the prefix /api. */
  readonly hasPrefix: boolean;
  /** Whether every visit takes it, or only that of --all. */
  readonly isShort: boolean;
}

const WIDE = { width: 1_280, hasPrefix: false };
const NARROW = { width: 360, hasPrefix: false };

const VISITS: readonly Visit[] = [
  { what: 'on a wide screen', ...WIDE, signIn: 'by hand', isShort: false },
  { what: 'on a narrow screen', ...NARROW, signIn: 'by a link', isShort: false },
  { what: 'behind a prefix', ...WIDE, hasPrefix: true, signIn: 'by a link', isShort: false },
  {
    what: 'on a narrow screen behind a prefix',
    ...NARROW,
    hasPrefix: true,
    signIn: 'by hand',
    isShort: true,
  },
];

/** What a visitor does, one after another. */
const STEPS: Readonly<Record<string, () => Promise<void>>> = {
  'creates two plants': async () => {
    for (const body of ['{"id":1,"name":"Ficus"}', '{"id":2,"name":"Aloe"}']) {
      await sendBody('createPlant', body);
      assert.equal((await readAnswer()).status, '200');
    }
  },
  'reads a page, and the next one': async () => {
    await openOperation('listPlants');
    await fillParameter('limit', '1');
    await send();
    const [, after = ''] = /[?&]after=(\d+)/.exec(await readHeader('link')) ?? [];
    await fillParameter('after', after);
    await send();
    assert.match((await readAnswer()).body, /"id": 2,\s+"name": "Aloe"/);
  },
  'changes a plant by its ETag, once': async () => {
    await openOperation('readPlant');
    await fillParameter('id', '1');
    await send();
    const etag = await readHeader('etag');
    await openOperation('replacePlant');
    await fillParameter('id', '1');
    await fillParameter('If-Match', etag);
    await bodyField().fill('{"name":"Ficus elastica"}');
    await send();
    assert.equal((await readAnswer()).status, '200');
    await send();
    const { status, body } = await readAnswer();
    assert.equal(status, '412');
    assert.match(body, /"error": 41200/);
  },
  'imports lines': async () => {
    await sendBody('importPlants', '{"id":3,"name":"Cactus"}\n{"id":4,"name":"Fern"}\n');
    assert.match((await readAnswer()).body, /"created": 2/);
  },
  'sees what is wrong with a plant': async () => {
    await sendBody('createPlant', '{"id":5}');
    const { status, body } = await readAnswer();
    assert.equal(status, '400');
    assert.match(body, /"error": 40002/);
  },
  'sees the page without scrolling to the side': async () => {
    const hidden = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    assert.equal(await page.evaluate(hidden), 0);
  },
  'is refused after signing out': async () => {
    await page.getByRole('button', { name: 'Authorize', exact: true }).click();
    await page.getByRole('button', { name: 'Remove authorization' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await openOperation('listPlants');
    await send();
    assert.match((await readAnswer()).body, /"error": 40100/);
  },
};

describe('a visitor of Swagger UI', () => {
  for (const visit of VISITS.filter(({ isShort }) => isShort || values.all)) {
    it(`${visit.what}, who signs in ${visit.signIn}`, async () => {
      await context.close();
      const ownFolder = await ProgramFolder.create();
      const PATH_PREFIX = visit.hasPrefix ? '/api' : '';
      const url = await ownFolder.serve({ PATH_PREFIX }).listening();
      const upstream = Number(new URL(url).port);
      const proxy = visit.hasPrefix
        ? await Proxy.start('nginx', ownFolder, [upstream], { removesPrefix: true })
        : undefined;
      try {
        await open((proxy?.origin ?? url) + PATH_PREFIX, visit.width);
        if (visit.signIn === 'by hand') await authorize();
        else await page.goto(`${base}/docs#token=${TOKEN}`);
        for (const [step, take] of Object.entries(STEPS)) {
          await take().catch((cause: unknown) => {
            throw new Error(`the step that failed: ${step}`, { cause });
          });
        }
        await context.close();
      } finally {
        await proxy?.stop();
        await ownFolder.remove();
      }
    });
  }

  it('who has only a keyboard signs in and creates a plant', async () => {
    await focus(page.getByRole('button', { name: 'Authorize', exact: true }));
    await page.keyboard.press('Enter');
    await focus(page.getByLabel('auth-bearer-value'));
    await page.keyboard.type(TOKEN);
    await focus(page.getByRole('button', { name: 'Apply credentials' }));
    await page.keyboard.press('Enter');
    await focus(page.getByRole('button', { name: 'Close' }));
    await page.keyboard.press('Enter');
    await focus(page.locator('#operations-plants-createPlant .opblock-summary-control'));
    await page.keyboard.press('Enter');
    await focus(bodyField());
    await page.keyboard.press('Control+A');
    await page.keyboard.type('{"id":8,"name":"typed"}');
    await focus(page.locator('.opblock.is-open .execute'));
    await page.keyboard.press('Enter');
    await shownAnswer().locator('.response-col_status').waitFor();
    assert.deepEqual(await readAnswer(), { status: '200', body: '{\n  "name": "typed"\n}' });
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

/** The field for the body of the open operation. */
function bodyField(): Locator {
  return page.locator('.opblock.is-open .body-param textarea');
}

async function sendBody(operationId: string, body: string): Promise<void> {
  await openOperation(operationId);
  await bodyField().fill(body);
  await send();
}

/** Moves the focus with the key Tab until it is here. */
async function focus(target: Locator): Promise<void> {
  await target.waitFor();
  const isFocused = (): Promise<boolean> =>
    target.evaluate((element) => element === element.ownerDocument.activeElement);
  while (!(await isFocused())) await page.keyboard.press('Tab');
}

async function fillParameter(name: string, text: string): Promise<void> {
  await page.locator(`.opblock.is-open tr[data-param-name="${name}"] input`).fill(text);
}

/** Executes the open operation, and waits until the page shows the status of the answer. */
async function send(): Promise<Request> {
  const answered = page.waitForResponse(`${base}/plants**`);
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

/** Reads a header of the answer that the page shows. */
async function readHeader(name: string): Promise<string> {
  const lines = await shownAnswer().locator('.headerline').allInnerTexts();
  const line = lines.find((one) => one.trim().startsWith(`${name}:`)) ?? '';
  return line.slice(line.indexOf(':') + 1).trim();
}

function shownAnswer(): Locator {
  return page.locator('.opblock.is-open .live-responses-table tbody tr.response');
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createClient as generateHeyApi } from '@hey-api/openapi-ts';
import createOpenapiFetch from 'openapi-fetch';
import generateTypes, { astToString } from 'openapi-typescript';
import { generate as generateOrval } from 'orval';
import { ProgramFolder } from '../../support/program-folder.ts';

// Generates clients from openapi.json as their users would, and runs each against the built program.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Below node_modules, where nothing formats, lints or commits it. */
const OUTPUT = fileURLToPath(new URL('node_modules/.cache/clients/', import.meta.url));
const DOCUMENT = `${ROOT}openapi.json`;

const TOKEN = 'correct-horse-battery-staple';
const headers = { Authorization: `Bearer ${TOKEN}` };
const PLANT = { name: '🌱 Monstera', tag: 'indoor' };
const LINES = '{"id":-1,"name":"one"}\n{"id":-2,"name":"two"}\n{"id":-2,"name":"other"}\n';
/**
 * The greatest integer below which a number is exact, and the first integer that no number equals.
 */
const GREATEST_EXACT = Number.MAX_SAFE_INTEGER;
const FIRST_INEXACT = 2n ** 53n + 1n;

let folder;
let origin;

before(async () => {
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT, { recursive: true });
  folder = await ProgramFolder.create();
  origin = await folder.start({ ACCESS_TOKENS: TOKEN }).listening();
});

after(async () => {
  await folder.remove();
});

/** Creates a plant whose id no number equals. */
async function createInexact(id) {
  const response = await fetch(`${origin}/plants`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: `{"id":${id},"name":"exact"}`,
  });
  assert.equal(response.status, 200);
}

/** Compiles generated code with the compiler of the project, as strictly as can be. */
function compile(...files) {
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2023'];
  const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--ignoreConfig'];
  const tsc = `${ROOT}node_modules/typescript/bin/tsc`;
  const sources = files.map((file) => OUTPUT + file);
  execFileSync(process.execPath, [tsc, ...options, ...modules, ...sources], { stdio: 'inherit' });
}

/** Checks the result of an import of {@link LINES}, whether or not they were stored before. */
function assertImported({ created, identical, failed, failures }) {
  assert.deepEqual([created + identical, failed], [2, 1]);
  assert.deepEqual(
    failures.map(({ line, error }) => [line, error]),
    [[3, 40900]],
  );
}

function assertRefusesString({ error, message }) {
  assert.equal(error, 40002);
  assert.match(message, /id must be an integer .*, not a string: write it without quotes$/);
}

/** Checks the values that a validator must accept and refuse, whichever generator has made it. */
function assertValidates(schema, id) {
  const isValid = (name) => schema.safeParse({ id, name }).success;
  const texts = ['', '🌱 Monstera', '\u{10ffff}', '\ufffd', 'a\nb', 'é'];
  assert.deepEqual(texts.filter(isValid), texts);
  assert.equal(isValid('a\u0000'), false);
  assert.equal(schema.safeParse({ id }).success, false);
}

describe('openapi-typescript with openapi-fetch', () => {
  let client;

  before(async () => {
    const types = await generateTypes(new URL(DOCUMENT, 'file:'));
    writeFileSync(`${OUTPUT}openapi-typescript.ts`, astToString(types));
    compile('openapi-typescript.ts');
    client = createOpenapiFetch({ baseUrl: origin, headers });
  });

  it('creates, reads and lists a plant', async () => {
    const body = { id: GREATEST_EXACT, ...PLANT };
    const created = await client.POST('/plants', { body });
    assert.deepEqual(created.data, PLANT);
    const path = { id: GREATEST_EXACT };
    const read = await client.GET('/plants/{id}', { params: { path } });
    assert.deepEqual(read.data, body);
    const query = { tag: 'indoor', after: GREATEST_EXACT - 1, limit: 1 };
    const listed = await client.GET('/plants', { params: { query } });
    assert.deepEqual(listed.data, [body]);
    const again = await client.POST('/plants', { body });
    assert.equal(again.error.error, 40901);
  });

  it('changes a member, and imports lines', async () => {
    const path = { id: GREATEST_EXACT };
    const changed = await client.PATCH('/plants/{id}', { params: { path }, body: { tag: null } });
    assert.deepEqual(changed.data, { name: PLANT.name });
    const imported = await client.POST('/plants/import', {
      body: LINES,
      bodySerializer: (lines) => lines,
      headers: { 'Content-Type': 'application/x-ndjson' },
    });
    assertImported(imported.data);
  });

  it('has numbers for int64, sends no bigint, and rounds the ids that it reads', async () => {
    const source = readFileSync(`${OUTPUT}openapi-typescript.ts`, 'utf8');
    assert.match(source, /^ +id: number;$/m);
    await createInexact(FIRST_INEXACT);
    const body = { id: FIRST_INEXACT, ...PLANT };
    await assert.rejects(client.POST('/plants', { body }), /BigInt/);
    const path = { id: FIRST_INEXACT };
    const read = await client.GET('/plants/{id}', { params: { path } });
    assert.notEqual(BigInt(read.data.id), FIRST_INEXACT);
    const text = await client.GET('/plants/{id}', { params: { path }, parseAs: 'text' });
    assert.equal(text.data, `{"id":${FIRST_INEXACT},"name":"exact"}`);
  });
});

describe('@hey-api/openapi-ts with zod', () => {
  let sdk;
  let schemas;

  before(async () => {
    await generateHeyApi({
      input: DOCUMENT,
      output: `${OUTPUT}hey-api`,
      plugins: ['@hey-api/client-fetch', { name: '@hey-api/sdk', validator: false }, 'zod'],
      logs: { level: 'silent' },
    });
    compile('hey-api/sdk.gen.ts', 'hey-api/zod.gen.ts');
    sdk = await import(`${OUTPUT}hey-api/sdk.gen.ts`);
    schemas = await import(`${OUTPUT}hey-api/zod.gen.ts`);
    const { client } = await import(`${OUTPUT}hey-api/client.gen.ts`);
    client.setConfig({ baseUrl: origin, auth: TOKEN });
  });

  it('creates, reads and lists a plant', async () => {
    const body = { id: GREATEST_EXACT - 1, ...PLANT };
    const created = await sdk.createPlant({ body });
    assert.deepEqual(created.data, PLANT);
    assert.deepEqual(schemas.zCreatePlantResponse.parse(created.data), PLANT);
    const read = await sdk.readPlant({ path: { id: body.id } });
    assert.deepEqual(read.data, body);
    const listed = await sdk.listPlants({ query: { after: body.id - 1, limit: 1 } });
    assert.deepEqual(listed.data, [body]);
    assert.equal((await sdk.createPlant({ body })).error.error, 40901);
  });

  it('changes a member, and imports lines', async () => {
    const path = { id: GREATEST_EXACT - 1 };
    const changed = await sdk.patchPlant({ path, body: { tag: null } });
    assert.deepEqual(changed.data, { name: PLANT.name });
    const bodySerializer = (lines) => lines;
    assertImported((await sdk.importPlants({ body: LINES, bodySerializer })).data);
  });

  it('validates as the program does', () => {
    assertValidates(schemas.zNewPlant, 1n);
    const { id } = schemas.zNewPlant.shape;
    const bounds = [-(2n ** 63n), 2n ** 63n - 1n];
    assert.deepEqual(
      bounds.map((bound) => id.parse(bound)),
      bounds,
    );
    assert.equal(id.safeParse(2n ** 63n).success, false);
  });

  it('has numbers for int64, sends a bigint as a string, and rounds the ids that it reads', async () => {
    const types = readFileSync(`${OUTPUT}hey-api/types.gen.ts`, 'utf8');
    assert.match(types, /^ +id: number;$/m);
    const id = FIRST_INEXACT + 2n;
    await createInexact(id);
    assertRefusesString((await sdk.createPlant({ body: { id, ...PLANT } })).error);
    const read = await sdk.readPlant({ path: { id } });
    assert.notEqual(schemas.zReadPlantResponse.parse(read.data).id, id);
    const text = await sdk.readPlant({ path: { id }, parseAs: 'text' });
    assert.equal(text.data, `{"id":${id},"name":"exact"}`);
  });
});

describe('orval with zod', () => {
  let client;
  let schemas;

  before(async () => {
    const input = { target: DOCUMENT };
    await generateOrval({
      input,
      output: { target: `${OUTPUT}orval/client.ts`, client: 'fetch', baseUrl: origin },
    });
    await generateOrval({ input, output: { target: `${OUTPUT}orval/zod.ts`, client: 'zod' } });
    compile('orval/client.ts', 'orval/zod.ts');
    client = await import(`${OUTPUT}orval/client.ts`);
    schemas = await import(`${OUTPUT}orval/zod.ts`);
  });

  it('creates, reads and lists a plant', async () => {
    const body = schemas.createPlantBody.parse({ id: GREATEST_EXACT - 3, ...PLANT });
    const created = await client.createPlant(body, { headers });
    assert.deepEqual([created.status, created.data], [200, PLANT]);
    assert.deepEqual(schemas.createPlantResponse.parse(created.data), PLANT);
    const read = await client.readPlant(body.id, { headers });
    assert.deepEqual(read.data, body);
    const listed = await client.listPlants({ after: body.id - 1, limit: 1 }, { headers });
    // If an answer may be lines, orval leaves reading it to its caller.
    assert.deepEqual(await listed.stream.json(), [body]);
    assert.equal((await client.createPlant(body, { headers })).data.error, 40901);
  });

  it('changes a member, and sends all lines of an import as one text, which is refused', async () => {
    const changed = await client.patchPlant(GREATEST_EXACT - 3, { tag: null }, { headers });
    assert.deepEqual(changed.data, { name: PLANT.name });
    const { data } = await client.importPlants(LINES, { headers });
    assert.deepEqual([data.failed, data.failures[0].error], [1, 40002]);
  });

  it('validates as the program does', () => {
    assertValidates(schemas.createPlantBody, 1);
  });

  it('has numbers for int64, sends no bigint, and rounds the ids that it reads', async () => {
    const source = readFileSync(`${OUTPUT}orval/client.ts`, 'utf8');
    assert.match(source, /^ +id: number;$/m);
    const id = FIRST_INEXACT + 4n;
    await createInexact(id);
    await assert.rejects(client.createPlant({ id, ...PLANT }, { headers }), /BigInt/);
    assert.equal(schemas.createPlantBody.safeParse({ id, ...PLANT }).success, false);
    const read = await client.readPlant(id, { headers });
    assert.notEqual(BigInt(read.data.id), id);
  });
});

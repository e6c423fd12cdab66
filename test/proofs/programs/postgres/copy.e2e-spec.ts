import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { DataSource } from 'typeorm';
import { copyStore } from '../../../../packages/store/src/commands/copy-store.js';
import { schema } from '../../../../src/schema.js';
import { Plant } from '../../../../src/modules/plants/plant.entity.js';
import { BatchedRepository } from 'durable-rest';
import { JobRun } from '../../../../packages/store/src/repositories/jobs.js';
import { querySqlite, useStore } from '../../../support/store.js';
import { TestStore } from 'durable-rest/testing';

const COMMAND = new URL('../../../../dist/commands/db-copy.js', import.meta.url).pathname;

/** More rows than are copied at a time, among them values that not every engine keeps exactly. */
const PLANTS: readonly Plant[] = [
  { id: '-9223372036854775808', name: '', tag: '' },
  { id: '9223372036854775807', name: '"quotes" \\ {,} NULL \u0001 🌿 \uffff', tag: 'NULL' },
  { id: '9007199254740993', name: 'x'.repeat(100_000), tag: null },
  ...Array.from({ length: 2_500 }, (_, id) => ({ id: String(id), name: `plant ${id}`, tag: null })),
];

const NOWHERE = 'postgres://me@127.0.0.1:1/plants';
const CANNOT_BE_USED =
  'The store cannot be used, the PostgreSQL database plants at 127.0.0.1:1 as the user me: ';
const COMPANION = 'would be a file of another store';

let from: TestStore;
let to: TestStore;

beforeEach(async () => {
  from = await TestStore.create('sqlite');
  to = await TestStore.create('postgres');
  await create(from, PLANTS);
});

afterEach(async () => {
  await from.remove();
  await to.remove();
});

/** Opens a store as the program does, and closes it after the work. */
function useService<Result>(
  store: TestStore,
  work: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  return useStore(store, work, schema);
}

async function create(store: TestStore, plants: readonly Plant[]): Promise<void> {
  await useService(store, async (dataSource) => {
    const rows = new BatchedRepository(dataSource.getRepository(Plant));
    await rows.createAll(plants);
  });
}

/** Resolves with the number of rows of each table. */
async function copy(source = from.url, target = to.url): Promise<Record<string, number>> {
  return Object.fromEntries(await copyStore(schema, source, target));
}

describe('copying a store to another engine', () => {
  it('copies every plant exactly: a copy back finds no row that differs', async () => {
    expect(await copy()).toMatchObject({ plants: PLANTS.length });
    expect(await copy(to.url, from.url)).toMatchObject({ plants: PLANTS.length });
  });

  it('leaves the jobs of both stores as they are', async () => {
    const insertRun = (store: TestStore, doneFor: string): Promise<unknown> =>
      useService(store, (source) => source.getRepository(JobRun).insert({ name: 'job', doneFor }));
    await insertRun(from, '1');
    await insertRun(to, '2');
    expect(await copy()).toMatchObject({ plants: PLANTS.length });
    const runs = await useService(to, (source) => source.getRepository(JobRun).find());
    expect(runs).toMatchObject([{ doneFor: '2' }]);
  });

  it('finishes a copy that was interrupted', async () => {
    await create(to, PLANTS.slice(1_000));
    expect(await copy()).toMatchObject({ plants: PLANTS.length });
  });

  it.each([
    [
      'overwrites nothing',
      { id: '7' },
      'another row with a key or a unique value of a row to copy',
    ],
    ['fails if the stores then differ', { id: '-7' }, '2503 rows in the first store and 2504 in'],
  ])('%s', async (_, plant, sentence) => {
    await create(to, [{ ...plant, name: 'another', tag: null }]);
    await expect(copy()).rejects.toThrow(sentence);
  });

  it.each([
    ['DELETE FROM migrations WHERE id > 1', 'older than this program'],
    ['DELETE FROM migrations', 'it has executed no migration'],
    ["INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')", 'newer than this program'],
    ['DROP TABLE migrations', 'no such table: migrations'],
  ])('copies from no store with another schema: %s', async (sql, sentence) => {
    await querySqlite(from.url.replace('sqlite:', ''), sql);
    await expect(copy()).rejects.toThrow(sentence);
  });

  it.each<[what: string, from: () => string, to: () => string, sentence: string]>([
    ['onto itself', () => from.url, () => from.url, 'Name two different stores'],
    ['that is missing', () => `${from.url}.missing`, () => to.url, 'There is no store at '],
    ['that cannot be reached', () => NOWHERE, () => to.url, CANNOT_BE_USED],
    ['into a file of its own', () => from.url, () => `${from.url}-wal`, COMPANION],
    ['from a file beside it', () => `${from.url}-lock`, () => to.url, COMPANION],
  ])('copies no store %s, and makes no file', async (_, source, target, sentence) => {
    const folder = dirname(from.url.replace('sqlite:', ''));
    const before = await readdir(folder);
    await expect(copy(source(), target())).rejects.toThrow(sentence);
    expect(await readdir(folder)).toEqual(before);
  });

  it('is a command, with DATABASE_URL as the second store, and needs little memory', async () => {
    await querySqlite(
      from.url.replace('sqlite:', ''),
      `WITH RECURSIVE numbers(n) AS (SELECT 10000 UNION ALL SELECT n + 1 FROM numbers WHERE n < 11199)
       INSERT INTO plants (id, name) SELECT n, printf('%.*c', 100000, 'x') FROM numbers`,
    );
    const run = (args: string[], env = {}): Promise<{ stdout: string; stderr: string }> =>
      promisify(execFile)(process.execPath, ['--max-old-space-size=100', COMMAND, ...args], {
        env,
        cwd: '/',
      });
    const { stdout } = await run([from.url], { DATABASE_URL: to.url });
    expect(stdout).toMatch(/^plants: 3703, the same in both$/m);
    await expect(run([])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Name two stores/),
    });
    await expect(run([from.url, 'elsewhere'])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^A store is named as in DATABASE_URL.*\n$/),
    });
  });
});

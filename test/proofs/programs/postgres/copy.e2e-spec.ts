import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { copyStore } from '../../../../src/commands/copy-store.js';
import { createDataSourceOptions } from '../../../../src/platform/database/data-source/data-source-options.js';
import { createDataSource } from '../../../../src/platform/database/data-source/open-database.js';
import { Plant } from '../../../../src/modules/plants/plant.entity.js';
import { BatchedRepository } from '../../../../src/platform/database/batched-repository.js';
import { JobRun } from '../../../../src/platform/database/job-run.entity.js';
import { schema } from '../../../../src/schema.js';
import { querySqlite } from '../../../support/query-sqlite.js';
import { TestStore } from '../../../support/test-store.js';
import { useStore } from '../../../support/use-store.js';

const COMMAND = new URL('../../../../dist/commands/db-copy.js', import.meta.url).pathname;

/** More rows than are copied at a time, among them values that not every engine keeps exactly. */
const PLANTS: readonly Plant[] = [
  { id: '-9223372036854775808', name: '', tag: '' },
  { id: '9223372036854775807', name: '"quotes" \\ {,} NULL \u0001 🌿 \uffff', tag: 'NULL' },
  { id: '9007199254740993', name: 'x'.repeat(100_000), tag: null },
  ...Array.from({ length: 2_500 }, (_, id) => ({ id: String(id), name: `plant ${id}`, tag: null })),
];

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

async function create(store: TestStore, plants: readonly Plant[]): Promise<void> {
  await useStore(store, async (dataSource) => {
    const rows = new BatchedRepository(dataSource.getRepository(Plant));
    await rows.createAll(plants);
  });
}

async function copy(source = from, target = to): Promise<unknown> {
  return await copyStore(source.url, target.url, () => undefined);
}

/** The tables of other features are copied too. */
const COPIED = expect.arrayContaining([
  { table: 'plants', rows: PLANTS.length, digest: expect.stringMatching(/^\w{64}$/) },
]);

describe('copying a store to another engine', () => {
  it('copies every plant exactly, there and back again', async () => {
    const back = await TestStore.create('sqlite');
    const there = await copy();
    expect(there).toEqual(COPIED);
    expect(await copy(to, back)).toEqual(there);
    expect(await copy(back, from)).toEqual(there);
    await back.remove();
  });

  it('copies more long rows than may wait for a commit', async () => {
    const name = 'x'.repeat(100_000);
    for (let start = 10_000; start < 10_400; start += 100) {
      await create(
        from,
        Array.from({ length: 100 }, (_, index) => ({ id: String(start + index), name, tag: null })),
      );
    }
    const rows = PLANTS.length + 400;
    expect(await copy()).toContainEqual(expect.objectContaining({ table: 'plants', rows }));
  });

  it('does not need memory for a thousand long rows at once', async () => {
    await querySqlite(
      from.url.replace('sqlite:', ''),
      `WITH RECURSIVE numbers(n) AS (SELECT 10000 UNION ALL SELECT n + 1 FROM numbers WHERE n < 11999)
       INSERT INTO plants (id, name) SELECT n, printf('%.*c', 100000, 'x') FROM numbers`,
    );
    const args = ['--max-old-space-size=100', COMMAND, from.url, to.url];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: '/' });
    expect(stdout).toMatch(/^plants: 4503 rows, digest \w{64}, the same in both$/m);
  });

  it('leaves the jobs of both stores as they are', async () => {
    for (const [store, doneFor] of [
      [from, '1'],
      [to, '2'],
    ] as const) {
      const run = { name: 'remove old changes', doneFor };
      await useStore(store, (dataSource) => dataSource.getRepository(JobRun).insert(run));
    }
    const copied = await copy();
    expect(copied).not.toContainEqual(expect.objectContaining({ table: 'job_runs' }));
    const runs = await useStore(to, (dataSource) => dataSource.getRepository(JobRun).find());
    expect(runs).toMatchObject([{ doneFor: '2' }]);
  });

  it('finishes a copy that was interrupted', async () => {
    await create(to, PLANTS.slice(1_000));
    expect(await copy()).toEqual(COPIED);
  });

  it('overwrites nothing', async () => {
    await create(to, [{ id: '7', name: 'another', tag: null }]);
    await expect(copy()).rejects.toThrow('already holds another row with the key 7');
  });

  it('fails when the stores differ in the end', async () => {
    await create(to, [{ id: '-7', name: 'one more', tag: null }]);
    await expect(copy()).rejects.toThrow('2503 rows in the first store, 2504 in the second');
  });

  it('copies from no store that is missing, and makes none', async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(copyStore(`${from.url}.missing`, to.url, () => undefined)).rejects.toThrow(
        'There is no store to copy from',
      );
    }
  });

  it.each([
    ['DELETE FROM migrations', 'older than this program'],
    ["INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')", 'newer than this program'],
    ['DROP TABLE migrations', 'not one of its own'],
  ])('copies from no store with another schema: %s', async (sql, sentence) => {
    const dataSource = createDataSource(
      createDataSourceOptions({ DATABASE_URL: from.url, DATABASE_POOL_SIZE: 1 }, schema),
    );
    await dataSource.initialize();
    await dataSource.query(sql);
    await dataSource.destroy();
    await expect(copy()).rejects.toThrow(sentence);
  });

  it('copies no store onto itself, and from none that cannot be reached', async () => {
    const same = from.url.replace('/plants.db', '/./plants.db');
    for (const url of [from.url, same]) {
      const copied = copyStore(from.url, url, () => undefined);
      await expect(copied).rejects.toThrow('The two stores are the same');
    }
    const nowhere = 'postgres://me@127.0.0.1:1/plants';
    await expect(copyStore(nowhere, to.url, () => undefined)).rejects.toThrow(
      'The store to copy from cannot be used, the PostgreSQL database plants at 127.0.0.1:1 as the user me: no server listens there',
    );
  });

  it.each(['-wal', '-shm', '-journal', '-lock'])(
    'copies no store into its own file plants.db%s, and from none, also through a link',
    async (suffix) => {
      const folder = dirname(from.url.replace('sqlite:', ''));
      await symlink(folder, join(folder, 'link'));
      const before = await readdir(folder);
      const linked = from.url.replace('/plants.db', '/link/plants.db');
      for (const file of [from.url + suffix, linked + suffix]) {
        for (const [source, target] of [
          [from.url, file],
          [file, from.url],
        ] as const) {
          const copied = copyStore(source, target, () => undefined);
          await expect(copied).rejects.toThrow('one is a file of the other');
        }
      }
      expect(await readdir(folder)).toEqual(before);
    },
  );

  it('is a command, with DATABASE_URL as the second store', async () => {
    const run = (args: string[], env = {}): Promise<{ stdout: string; stderr: string }> =>
      promisify(execFile)(process.execPath, [COMMAND, ...args], { env, cwd: '/' });
    const { stdout } = await run([from.url], { DATABASE_URL: to.url });
    expect(stdout).toMatch(/^plants: 2503 rows, digest \w{64}, the same in both$/m);
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

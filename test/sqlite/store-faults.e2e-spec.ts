import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { DataSource } from 'typeorm';
import {
  findIntegrityFaults,
  useStoreFile,
} from '../../packages/store/src/commands/sqlite-file.js';
import { SqliteConnection } from '../../packages/store/src/sqlite/sqlite-connection.js';
import { StoreUnavailableError } from 'durable-rest';
import { type Answer, expectError, passSeconds, resetClocks } from 'durable-rest/testing';
import { schema } from '../fixtures/schema.js';
import { TestApp } from '../support/fixture-app.js';
import { shortenLockWaits } from '../support/store.js';

/** No engine, no system call and no path. */
const NO_INNARDS: unknown = expect.not.stringMatching(/SQL|errno|ENO|plants\.db|disk|file|\//i);

beforeEach(shortenLockWaits);
const app = TestApp.forEach();
let store: string;
let lastId: number;
let acknowledged: string[];

beforeEach(() => {
  store = app.storeUrl.replace('sqlite:', '');
  [lastId, acknowledged] = [0, []];
});

afterEach(() => {
  resetClocks();
  jest.restoreAllMocks();
});

async function create(): Promise<Answer> {
  const id = String(++lastId);
  const answer = await app.create(`{"id":${id},"name":"n"}`);
  if (answer.status === 200) acknowledged.push(id);
  return answer;
}

/** Each function causes a fault of the store, and resolves with a function that ends the fault. */
const FAULTS: Record<string, () => Promise<() => Promise<unknown>>> = {
  'is locked by another process': async () => {
    const other = await SqliteConnection.open(store);
    await other.exec('BEGIN IMMEDIATE');
    return () => other.close();
  },
  'is moved away': () => move(store),
  'loses its log': () => move(`${store}-wal`),
  'loses its shared memory': () => move(`${store}-shm`),
  'is moved away with its folder': () => move(dirname(store)),
  'is replaced by another': async () => {
    const moveBack = await move(store);
    // A copy by this process would drop SQLite's locks.
    await promisify(execFile)('cp', [`${store}.away`, store]);
    return moveBack;
  },
};

async function move(path: string): Promise<() => Promise<void>> {
  await rename(path, `${path}.away`);
  return () => rename(`${path}.away`, path);
}

/** Sends creates that fail together, while requests that need no store are answered. */
async function expectUnavailable(): Promise<void> {
  const creates = Promise.all(Array.from({ length: 5 }, () => create()));
  expect((await app.request('GET', '/openapi.json')).status).toBe(200);
  for (const answer of await creates) {
    expectError(answer, 'UNAVAILABLE', NO_INNARDS);
    expect(answer.headers.get('retry-after')).toBe('1');
  }
}

/** The ways in which a module writes by itself. */
const MODULE_WRITES: Record<string, (dataSource: DataSource, sql: string) => Promise<unknown>> = {
  'one statement': (dataSource, sql) => dataSource.query(sql),
  'a transaction': (dataSource, sql) => dataSource.transaction((manager) => manager.query(sql)),
};

async function expectModulesRefused(): Promise<void> {
  const dataSource = app.nest.get(DataSource);
  for (const [way, write] of Object.entries(MODULE_WRITES)) {
    const sql = `UPDATE plants SET tag = '${way}'`;
    const outcome = await write(dataSource, sql).catch((error: unknown) => error);
    expect([way, outcome]).toEqual([way, expect.any(StoreUnavailableError)]);
  }
}

describe('while the store', () => {
  it.each(Object.entries(FAULTS))(
    '%s, creates get 503 and modules write nothing; then it goes on by itself',
    async (_, cause) => {
      expect(await create()).toMatchObject({ status: 200 });
      const end = await cause();
      await expectUnavailable();
      await expectModulesRefused();
      await end();
      expect(await create()).toMatchObject({ status: 200 });
      const stored = (await app.rows()).map(({ id }) => id);
      expect(acknowledged.filter((id) => !stored.includes(id))).toEqual([]);
      await app.restart({}, async () => {
        expect(await useStoreFile(store, 'read', schema, findIntegrityFaults)).toEqual([]);
      });
    },
  );

  it('is moved away, reads get 503 too', async () => {
    expect(await create()).toMatchObject({ status: 200 });
    const end = await move(store);
    passSeconds(1);
    for (const path of ['/plants/1', '/plants']) {
      expectError(await app.get(path), 'UNAVAILABLE', NO_INNARDS);
    }
    await end();
    expect(await app.get('/plants/1')).toMatchObject({ status: 200 });
  });

  it('is removed for good, creates get 503, and no new one is made', async () => {
    await unlink(store);
    await expectUnavailable();
    await app.restart({}, async () => {
      await expect(useStoreFile(store, 'read', schema, findIntegrityFaults)).rejects.toThrow(
        'There is no store',
      );
    });
  });
});

/** Identifies a file or a folder, whatever its name. */
function identify({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}

/** Records which files and folders this process flushes from now on. */
async function recordFlushes(): Promise<Set<string>> {
  const flushed = new Set<string>();
  const handle = await open(tmpdir());
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  jest.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
    flushed.add(identify(await this.stat()));
    await this.datasync();
  });
  return flushed;
}

it('a start flushes the file, which may be a copy, and its folder with all above it', async () => {
  const flushed = await recordFlushes();
  await app.restart({});
  const paths = [store];
  for (let path = dirname(store); path !== paths.at(-1); path = dirname(path)) paths.push(path);
  expect(paths.length).toBeGreaterThan(2);
  expect(paths.filter((path) => !flushed.has(identify(statSync(path))))).toEqual([]);
});

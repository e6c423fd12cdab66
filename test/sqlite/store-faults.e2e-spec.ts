import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rename, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteReader } from '../../src/commands/sqlite-reader.js';
import { commitConnection } from '../support/store.js';
import { type Demand, LARGE_NAME, PlantClient } from '../support/plant-client.js';
import { TestApp } from '../support/test-app.js';

let folder: string;
let store: string;
let client: PlantClient;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  store = join(folder, 'plants.db');
  client = new PlantClient();
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

interface Fault extends Demand {
  readonly what: string;
  /** Begins the fault, and resolves with a function that ends it. */
  readonly cause: (app: TestApp) => Promise<() => Promise<unknown>>;
}

const FAULTS: readonly Fault[] = [
  {
    what: 'may not grow',
    name: LARGE_NAME,
    cause: pragmas('max_page_count = 1', 'max_page_count = 9999'),
  },
  { what: 'is read-only', cause: pragmas('query_only = 1', 'query_only = 0') },
  {
    what: 'is locked by another process',
    isSlow: true,
    cause: async () => {
      const holder = await lock(store);
      return async () => {
        holder.kill('SIGKILL');
        await once(holder, 'close');
      };
    },
  },
  { what: 'is moved away', cause: () => move(store) },
  { what: 'loses its log', cause: () => move(`${store}-wal`) },
  { what: 'loses its shared memory', cause: () => move(`${store}-shm`) },
  { what: 'is moved away with its folder', cause: () => move(folder) },
  {
    what: 'is replaced by another',
    cause: async () => {
      const moveBack = await move(store);
      await cp(`${store}.away`, store);
      return moveBack;
    },
  },
];

function pragmas(begin: string, end: string): Fault['cause'] {
  return async (app) => {
    const connection = commitConnection(app);
    await connection.exec(`PRAGMA ${begin}`);
    return () => connection.exec(`PRAGMA ${end}`);
  };
}

async function move(path: string): Promise<() => Promise<void>> {
  await rename(path, `${path}.away`);
  return () => rename(`${path}.away`, path);
}

/** A process that holds the lock for writing until it is killed. */
async function lock(path: string): Promise<ChildProcess> {
  const script = `const database = new (require('sqlite3').Database)(process.argv[1]);
    database.exec('BEGIN IMMEDIATE', (error) => console.log(error ?? 'locked'));
    setInterval(() => database, 1000);`;
  const holder = spawn(process.execPath, ['-e', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(holder.stdout, 'data')) as [Buffer];
  expect(said.toString()).toBe('locked\n');
  return holder;
}

describe('while the store', () => {
  it.each(FAULTS)('$what, creates get 503; then it goes on by itself', async (fault) => {
    const app = await TestApp.start({ DATABASE_URL: `sqlite:${store}` });
    const url = app.url.origin;
    try {
      expect(await client.create(url)).toMatchObject({ status: 200 });
      const end = await fault.cause(app);
      await client.expectUnavailable(url, fault);
      await end();
      expect(await client.create(url, fault.name)).toMatchObject({ status: 200 });
    } finally {
      await app.close();
    }
    await client.expectAllStored(store);
  });

  it('is removed for good, creates get 503, and no new one is made', async () => {
    const app = await TestApp.start({ DATABASE_URL: `sqlite:${store}` });
    await unlink(store);
    await client.expectUnavailable(app.url.origin, {});
    await app.close();
    await expect(SqliteReader.open(store, 'ro')).rejects.toThrow('There is no store');
  });
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WAIT_TIMEOUT_MS } from '../../packages/platform/src/config/time-limits.js';
import { SqliteConnection } from '../../packages/store/src/sqlite/sqlite-connection.js';
import { StoreUnavailableError } from 'durable-rest';
import { Plant } from '../fixtures/plant.entity.js';
import { holdTimeouts, passTimeouts, resetClocks } from 'durable-rest/testing';
import {
  listStoredIds,
  openEntityStore,
  plant,
  shortenLockWaits,
  usePlantStore,
} from '../support/store.js';

beforeEach(shortenLockWaits);
afterEach(() => {
  jest.restoreAllMocks();
});
const store = usePlantStore();

/** Moves the clock until the work has ended. */
async function passTimeUntil(work: Promise<unknown>): Promise<void> {
  const state = { isOver: false };
  const end = (): boolean => (state.isOver = true);
  work.then(end, end);
  while (!state.isOver) {
    await nextTurn();
    passTimeouts(WAIT_TIMEOUT_MS / 10);
  }
}

it.each<[string, () => Promise<unknown>]>([
  ['a save', () => store.plants.save(plant(2))],
  ['a create', () => store.rows.create(plant(2))],
  ['a transaction', () => store.dataSource.transaction((other) => other.insert(Plant, plant(2)))],
])(
  'a write inside a transaction that is not part of it is refused, and the store goes on: %s',
  async (_, write) => {
    holdTimeouts();
    const run = store.dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      const written = write();
      await passTimeUntil(written);
      await written;
    });
    await expect(run).rejects.toThrow(/must use the transaction's manager|unavailable/);
    resetClocks();
    expect(await store.rows.create(plant(3))).toBe('created');
    expect(await listStoredIds(store)).toEqual([3]);
  },
);

it('a write waits for its turn as long as STORE_TIMEOUT_MS says', async () => {
  const impatient = await openEntityStore([Plant], { STORE_TIMEOUT_MS: 1_000 });
  const { dataSource } = impatient;
  holdTimeouts();
  await dataSource.transaction(async () => {
    let error: unknown;
    void dataSource.manager.insert(Plant, plant(1)).catch((reason: unknown) => (error = reason));
    await nextTurn();
    passTimeouts(999);
    await nextTurn();
    expect(error).toBeUndefined();
    passTimeouts(1);
    await nextTurn();
    expect(String(error)).toContain('No turn to write was free within 1000 ms');
  });
  resetClocks();
  await impatient.close();
});

it('a transaction fails as a whole while another process writes, although it first reads', async () => {
  const other = await SqliteConnection.open(String(store.dataSource.options.database));
  await other.exec('BEGIN IMMEDIATE');
  const run = store.dataSource.transaction(async (manager) => {
    await manager.count(Plant);
    await manager.insert(Plant, plant(1));
  });
  await expect(run).rejects.toThrow(StoreUnavailableError);
  await other.close();
  await store.dataSource.transaction((manager) => manager.insert(Plant, plant(2)));
  expect(await listStoredIds(store)).toEqual([2]);
});

describe('connections', () => {
  it('let a row be read by its key while pages are read', async () => {
    await store.rows.create(plant(1));
    const page = await store.dataSource.pools.pageReaders.acquire();
    const waiting = Array.from({ length: 6 }, () => store.rows.list({ limit: 1 }));
    expect(await store.rows.find('1')).toEqual(plant(1));
    await page.release(false);
    const pages = await Promise.all(waiting);
    expect(pages.map(({ rows: found }) => found)).toEqual(pages.map(() => [plant(1)]));
  });

  it('are not reused after a caller has altered them', async () => {
    await store.dataSource.query('PRAGMA foreign_keys = OFF');
    await store.dataSource.query('CREATE TEMP TABLE notes (text)');
    const runner = store.dataSource.createQueryRunner();
    await runner.query('PRAGMA cache_size = 7');
    expect(await runner.query('PRAGMA cache_size')).toEqual([{ cache_size: 7 }]);
    await runner.release();
    expect(await store.dataSource.query('PRAGMA foreign_keys')).toEqual([{ foreign_keys: 1 }]);
    expect(await store.dataSource.query('PRAGMA cache_size')).not.toEqual([{ cache_size: 7 }]);
    await expect(store.dataSource.query('SELECT * FROM notes')).rejects.toThrow('no such table');
  });

  it('flush every commit to disk', async () => {
    const runner = store.dataSource.createQueryRunner();
    for (const pragma of ['synchronous', 'foreign_keys', 'journal_mode']) {
      expect(await runner.query(`PRAGMA ${pragma}`)).toEqual([
        { [pragma]: { synchronous: 2, foreign_keys: 1, journal_mode: 'wal' }[pragma] },
      ]);
    }
    await runner.release();
  });
});

it('a transaction that SQLite itself rolls back is lost as a whole, though its module continues', async () => {
  const run = store.dataSource.transaction(async (manager) => {
    await manager.insert(Plant, plant(1));
    await manager.query('PRAGMA max_page_count = 1');
    const large = Object.assign(plant(2), { name: 'x'.repeat(100_000) });
    await expect(manager.insert(Plant, large)).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(manager.insert(Plant, plant(3))).rejects.toBeInstanceOf(StoreUnavailableError);
  });
  await expect(run).rejects.toBeInstanceOf(StoreUnavailableError);
  expect(await store.rows.create(plant(4))).toBe('created');
  expect(await listStoredIds(store)).toEqual([4]);
});

describe('a statement that meets the lock of another process is refused, and what follows is stored:', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['an update', () => store.plants.update({ id: '1' }, { name: 'new' })],
    ['RETURNING', () => store.dataSource.query('DELETE FROM plants RETURNING id')],
    ['a table', () => store.dataSource.query('CREATE TABLE notes (text)')],
    ['a create', () => store.rows.create(plant(9))],
    ['a save', () => store.plants.save(plant(9))],
  ])('%s', async (_, write) => {
    await store.rows.create(plant(1));
    const file = String(store.dataSource.options.database);
    const other = await SqliteConnection.open(file);
    await other.exec('BEGIN IMMEDIATE');
    await expect(write()).rejects.toThrow(/SQLITE_BUSY|unavailable/);
    await other.exec('ROLLBACK');
    await store.plants.insert(plant(2));
    expect(await store.rows.create(plant(3))).toBe('created');
    await store.dataSource.transaction((manager) => manager.insert(Plant, plant(4)));
    await store.plants.update({ id: '4' }, { tag: 'last' });
    // What this process sees may not be committed yet.
    const stored = await other.all('SELECT id, name, tag FROM plants ORDER BY id');
    await other.close();
    expect(stored).toEqual([
      { id: 1, name: 'plant 1', tag: null },
      { id: 2, name: 'plant 2', tag: null },
      { id: 3, name: 'plant 3', tag: null },
      { id: 4, name: 'plant 4', tag: 'last' },
    ]);
  });
});

it('several statements in one text are refused, since SQLite would execute only the first', async () => {
  const both = "INSERT INTO plants VALUES (1, 'a', NULL); INSERT INTO plants VALUES (2, 'b', NULL)";
  await expect(store.dataSource.query(both)).rejects.toThrow('only the first');
  expect(await listStoredIds(store)).toEqual([]);
});

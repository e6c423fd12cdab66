import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntityManager, MigrationInterface, QueryRunner, Repository } from 'typeorm';
import { WAIT_TIMEOUT_MS } from '../../src/platform/config/env.js';
import type { SqliteDataSource } from '../../src/platform/database/sqlite/sqlite-data-source.js';
import { SqliteConnection } from '../../src/platform/database/sqlite/sqlite-connection.js';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { StoreUnavailableError } from '../../src/platform/database/store-unavailable.error.js';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { holdTimeouts, passTimeouts, resetClocks } from '../support/clock.js';
import { type EntityStore, openEntityStore } from '../support/entity-store.js';

/** Whether the program knows who calls it from inside a transaction. */
const KNOWS_CALLERS = Number(process.versions.node.split('.')[0]) >= 24;

let store: EntityStore;
let dataSource: StoreDataSource;
let plants: Repository<Plant>;
let rows: BatchedRepository<Plant>;

beforeEach(async () => {
  Logger.overrideLogger(false);
  await open();
});

afterEach(async () => {
  await store.close();
});

async function open(url?: string): Promise<void> {
  store = await openEntityStore([Plant], url === undefined ? {} : { url });
  ({ dataSource } = store);
  plants = dataSource.getRepository(Plant);
  rows = new BatchedRepository(plants);
}

function plant(id: number): Plant {
  return { id: String(id), name: `plant ${id}`, tag: null };
}

async function storedIds(): Promise<number[]> {
  const found = await plants.find({ order: { id: 'ASC' } });
  return found.map(({ id }) => Number(id));
}

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

/** Expects a transaction to fail whose work makes a call that is not part of it. */
async function expectRefusal(call: () => Promise<unknown>): Promise<void> {
  const warned = jest.spyOn(Logger.prototype, 'warn');
  if (!KNOWS_CALLERS) holdTimeouts();
  let refusal: unknown;
  try {
    const run = dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      const called = call();
      if (!KNOWS_CALLERS) await passTimeUntil(called);
      await called;
    });
    await run.catch((error: unknown) => (refusal = error));
  } finally {
    resetClocks();
  }
  if (KNOWS_CALLERS) {
    expect(refusal).toMatchObject({
      message: expect.stringContaining('A statement inside a transaction must be part of it'),
    });
  } else {
    expect(refusal).toMatchObject({ status: 503 });
  }
  warned.mockRestore();
  expect(await rows.create(plant(3))).toBe('created');
  expect(await storedIds()).toEqual([3]);
}

describe('a write inside a transaction that is not part of it', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['a save', () => plants.save(plant(2))],
    ['a create', () => rows.create(plant(2))],
    ['a transaction', () => dataSource.transaction((other) => other.insert(Plant, plant(2)))],
  ])('is refused with advice: %s', async (_, write) => {
    await expectRefusal(write);
  });
});

describe('a transaction that follows another', () => {
  const CASES: [string, (manager: EntityManager) => Promise<unknown>][] = [
    ['reads', (manager) => manager.count(Plant)],
    ['writes', (manager) => manager.insert(Plant, plant(3))],
    ['nests another', (manager) => manager.transaction((nested) => nested.count(Plant))],
  ];

  /** A connection outside of the program's turns, which waits for no lock. */
  function openAsAnotherProcess(): Promise<SqliteConnection> {
    return SqliteConnection.open(String(dataSource.options.database), 'existing', 0);
  }

  beforeEach(() => dataSource.transaction((manager) => manager.insert(Plant, plant(1))));

  it.each(CASES)('and first %s sees what was stored between them', async (_, first) => {
    await rows.create(plant(2));
    await dataSource.transaction(async (manager) => {
      await first(manager);
      expect(await manager.existsBy(Plant, { id: '2' })).toBe(true);
    });
  });

  it.each(CASES)('and first %s keeps other processes from writing', async (_, first) => {
    const other = await openAsAnotherProcess();
    const write = (): Promise<unknown> =>
      other.exec("INSERT INTO plants VALUES (9, 'other', NULL)");
    try {
      await dataSource.transaction(async (manager) => {
        await first(manager);
        await expect(write()).rejects.toThrow('SQLITE_BUSY');
      });
      await write();
    } finally {
      await other.close();
    }
  });

  it.each(CASES)('and first %s fails as a whole while another process writes', async (_, first) => {
    const other = await openAsAnotherProcess();
    await other.exec('BEGIN IMMEDIATE');
    const run = dataSource.transaction(async (manager) => {
      await first(manager);
      await manager.insert(Plant, plant(4));
    });
    await expect(run).rejects.toThrow(StoreUnavailableError);
    await other.close();
    await dataSource.transaction((manager) => manager.insert(Plant, plant(5)));
    expect(await storedIds()).toEqual([1, 5]);
  });
});

describe('a transaction without a statement', () => {
  it('blocks no writer before its first statement', async () => {
    const [one, other] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    await one.startTransaction();
    await other.startTransaction();
    expect(await rows.create(plant(1))).toBe('created');
    const inserted = [2, 3].map((id) => one.manager.insert(Plant, plant(id)));
    await Promise.all(inserted);
    await one.commitTransaction();
    await other.manager.insert(Plant, plant(4));
    await other.rollbackTransaction();
    for (const runner of [one, other]) await runner.release();
    expect(await storedIds()).toEqual([1, 2, 3]);
  });

  it.each(['commitTransaction', 'rollbackTransaction', 'release'] as const)(
    'is over after %s()',
    async (end) => {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner[end]();
      expect(runner.isTransactionActive && !runner.isReleased).toBe(false);
      if (!runner.isReleased) await runner.query("INSERT INTO plants VALUES (1, 'alone', NULL)");
      await runner.release();
      expect(await rows.create(plant(2))).toBe('created');
    },
  );
});

describe('connections', () => {
  it('let a long reader and writers run beside each other', async () => {
    await plants.insert(Array.from({ length: 500 }, (_, id) => plant(id)));
    // The reader has to last longer than the writers, on any machine.
    for (let limit = 125, isOver = true; isOver; limit *= 2) {
      expect(limit).toBeLessThanOrEqual(500);
      const report = plants.query(
        `WITH few AS (SELECT id FROM plants LIMIT ${limit})
         SELECT count(*) FROM few a, few b, few c WHERE a.id + b.id + c.id = 3`,
      );
      isOver = false;
      void report.then(() => (isOver = true));
      expect(await rows.create(plant(1_000 + limit))).toBe('created');
      await plants.save(plant(2_000 + limit));
      expect(await rows.find(String(2_000 + limit))).toBeDefined();
      const wasOver = isOver;
      await report;
      isOver = wasOver;
    }
  });

  it('are not reused after a caller has altered them', async () => {
    await dataSource.query('PRAGMA foreign_keys = OFF');
    await dataSource.query('CREATE TEMP TABLE notes (text)');
    const runner = dataSource.createQueryRunner();
    await runner.query('PRAGMA cache_size = 7');
    expect(await runner.query('PRAGMA cache_size')).toEqual([{ cache_size: 7 }]);
    await runner.release();
    expect(await dataSource.query('PRAGMA foreign_keys')).toEqual([{ foreign_keys: 1 }]);
    expect(await dataSource.query('PRAGMA cache_size')).not.toEqual([{ cache_size: 7 }]);
    await expect(dataSource.query('SELECT * FROM notes')).rejects.toThrow('no such table');
  });

  it('flush every commit to disk', async () => {
    const runner = dataSource.createQueryRunner();
    for (const pragma of ['synchronous', 'foreign_keys', 'journal_mode']) {
      expect(await runner.query(`PRAGMA ${pragma}`)).toEqual([
        { [pragma]: { synchronous: 2, foreign_keys: 1, journal_mode: 'wal' }[pragma] },
      ]);
    }
    await runner.release();
  });

  it('commit a batch, though the one before could not end its transaction', async () => {
    await rows.create(plant(1));
    const { commits } = (dataSource as SqliteDataSource).driver.connections;
    const endings = ['COMMIT', 'ROLLBACK'];
    const exec = commits.exec.bind(commits);
    const faulty = jest.spyOn(commits, 'exec').mockImplementation((sql) => {
      if (sql !== endings[0]) return exec(sql);
      endings.shift();
      return Promise.reject(Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' }));
    });
    await expect(rows.change('1', (row) => row && { ...row, tag: 'new' })).rejects.toMatchObject({
      status: 503,
    });
    expect(endings).toEqual([]);
    faulty.mockRestore();
    expect(await rows.create(plant(2))).toBe('created');
    expect(await storedIds()).toEqual([1, 2]);
  });

  it.each([
    ['is cleaned', ['COMMIT', 'ROLLBACK']],
    ['is replaced', ['COMMIT', 'ROLLBACK', 'ROLLBACK']],
  ])('keep every row that was acknowledged while the connection of a batch %s', async (_, fail) => {
    await rows.create(plant(0));
    const { exec } = SqliteConnection.prototype as {
      exec: (this: SqliteConnection, sql: string) => Promise<void>;
    };
    let endings: string[] = [];
    jest.spyOn(SqliteConnection.prototype, 'exec').mockImplementation(function (
      this: SqliteConnection,
      sql,
    ) {
      if (sql !== endings[0]) return exec.call(this, sql);
      endings.shift();
      return Promise.reject(Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' }));
    });
    const acknowledged = [];
    for (let id = 1; id <= 100; id++) {
      endings = [...fail];
      const change = rows.change('0', (row) => row && { ...row, tag: String(id) });
      change.catch(() => undefined);
      // The create comes in the batch after that of the change.
      await nextTurn();
      const created = rows.create(plant(id));
      await expect(change).rejects.toMatchObject({ status: 503 });
      expect(await created).toBe('created');
      expect(endings).toEqual([]);
      acknowledged.push(id);
    }
    jest.restoreAllMocks();
    expect(await storedIds()).toEqual([0, ...acknowledged]);
  });

  it('keep foreign keys after a migration that failed', async () => {
    class Failing1700000000000 implements MigrationInterface {
      async up(queryRunner: QueryRunner): Promise<void> {
        await queryRunner.query('CREATE TABLE half (id)');
        throw new Error('failed');
      }
      async down(): Promise<void> {
        // Nothing to undo.
      }
    }
    dataSource.migrations.push(new Failing1700000000000());
    await expect(dataSource.runMigrations({ transaction: 'each' })).rejects.toThrow('failed');
    expect(await dataSource.query('PRAGMA foreign_keys')).toEqual([{ foreign_keys: 1 }]);
    await expect(dataSource.query('SELECT * FROM half')).rejects.toThrow('no such table');
    await plants.save(plant(1));
  });

  it('begin and end transactions by no statement of their own', async () => {
    for (const sql of ['BEGIN', ' begin immediate', '/* a */ COMMIT', 'ROLLBACK', 'SAVEPOINT a']) {
      await expect(dataSource.query(sql)).rejects.toThrow(
        'A transaction is begun and ended by dataSource.transaction()',
      );
    }
  });
});

describe('a transaction that SQLite itself rolls back', () => {
  it('is lost as a whole, though its module continues', async () => {
    const run = dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      await manager.query('PRAGMA max_page_count = 1');
      const large = Object.assign(plant(2), { name: 'x'.repeat(100_000) });
      await expect(manager.insert(Plant, large)).rejects.toBeInstanceOf(StoreUnavailableError);
      await expect(manager.insert(Plant, plant(3))).rejects.toBeInstanceOf(StoreUnavailableError);
    });
    await expect(run).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await rows.create(plant(4))).toBe('created');
    expect(await storedIds()).toEqual([4]);
  });

  it('keeps none of the statements that began together', async () => {
    await rows.create(plant(9));
    const run = dataSource.transaction(async (manager) => {
      await manager.query('PRAGMA max_page_count = 1');
      const large = Object.assign(plant(1), { name: 'x'.repeat(100_000) });
      await Promise.allSettled([
        manager.insert(Plant, large),
        manager.insert(Plant, plant(2)),
        manager.transaction((within) => within.insert(Plant, plant(3))),
        manager.update(Plant, '9', { id: '4' }),
      ]);
    });
    await expect(run).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await storedIds()).toEqual([9]);
  });

  it('takes no statement that begins while it is committed', async () => {
    const { exec } = SqliteConnection.prototype as {
      exec: (this: SqliteConnection, sql: string) => Promise<void>;
    };
    let late: Promise<unknown> | undefined;
    const run = dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      jest.spyOn(SqliteConnection.prototype, 'exec').mockImplementation(function (
        this: SqliteConnection,
        sql,
      ) {
        const done = exec.call(this, sql);
        if (sql === 'COMMIT')
          late ??= manager.insert(Plant, plant(2)).catch((error: unknown) => error);
        return done;
      });
    });
    await run;
    jest.restoreAllMocks();
    expect(await late).toBeInstanceOf(Error);
    await dataSource.transaction((manager) => manager.insert(Plant, plant(3)));
    expect(await storedIds()).toEqual([1, 3]);
  });

  it('keeps nothing if a nested one could not begin', async () => {
    const run = dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
      const exec = jest.spyOn(SqliteConnection.prototype, 'exec').mockRejectedValueOnce(full);
      await manager.transaction((within) => within.insert(Plant, plant(2))).catch(() => undefined);
      exec.mockRestore();
      await manager.insert(Plant, plant(3)).catch(() => undefined);
    });
    await expect(run).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await storedIds()).toEqual([]);
  });

  it('continues after a refused row', async () => {
    await dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      await expect(manager.insert(Plant, plant(1))).rejects.toMatchObject({ kind: 'unique' });
      await manager.insert(Plant, plant(2));
    });
    expect(await storedIds()).toEqual([1, 2]);
  });
});

it('a statement alone ends after the time limit too', async () => {
  const endless = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
    SELECT count(*) FROM numbers`;
  const run = dataSource.withTimeLimit(50, (manager) => manager.query(endless));
  await expect(run).rejects.toBeInstanceOf(StoreUnavailableError);
});

describe('a store in memory', () => {
  beforeEach(async () => {
    await store.close();
    await open('sqlite::memory:');
  });

  it('has one connection, which all callers share', async () => {
    const results = await Promise.allSettled([
      dataSource.transaction(async (manager) => {
        await manager.insert(Plant, plant(1));
        await nextTurn();
        await manager.insert(Plant, plant(2));
      }),
      dataSource.transaction(async (manager) => {
        await manager.insert(Plant, plant(3));
        await nextTurn();
        throw new Error('undone');
      }),
      rows.create(plant(4)),
      plants.save(plant(5)),
      rows.find('1'),
      plants.find(),
    ]);
    const failed = results.filter(({ status }) => status === 'rejected');
    expect(failed).toEqual([{ status: 'rejected', reason: new Error('undone') }]);
    expect(await storedIds()).toEqual([1, 2, 4, 5]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a find', () => rows.find('1')],
    ['a page', () => rows.page({ limit: 1 })],
    ['a query', () => plants.find()],
  ])('refuses %s inside a transaction that is not part of it', async (_, read) => {
    await expectRefusal(read);
  });

  it('is as before after a caller has altered its connection', async () => {
    await dataSource.query('PRAGMA foreign_keys = OFF');
    expect(await dataSource.query('PRAGMA foreign_keys')).toEqual([{ foreign_keys: 1 }]);
  });
});

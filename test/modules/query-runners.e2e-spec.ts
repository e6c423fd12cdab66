import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { QueryRunnerAlreadyReleasedError } from 'typeorm/error/QueryRunnerAlreadyReleasedError.js';
import { WAIT_TIMEOUT_MS } from '../../packages/platform/src/config/time-limits.js';
import { BatchedRepository, ConstraintError, StoreUnavailableError } from 'durable-rest';
import { Bed, Row } from '../cases/beds.js';
import { ENGINE, holdTimeouts, passTimeouts, resetClocks, until } from 'durable-rest/testing';
import { openEntityStore, useEntityStore } from '../support/store.js';

/** More than any transaction of these tests takes on a busy machine. */
const TRANSACTION_TIMEOUT_MS = 600_000;

const store = useEntityStore([Bed, Row], { TRANSACTION_TIMEOUT_MS });

afterEach(resetClocks);

async function listBeds(): Promise<string[]> {
  const beds = await store.dataSource.getRepository(Bed).find({ order: { id: 'ASC' } });
  return beds.map(({ id, name }) => `${id} ${name}`);
}

/** Uses a query runner as TypeORM documents it, with a catch block that rolls back. */
async function transact(work: (runner: QueryRunner) => Promise<unknown>): Promise<Error> {
  const runner = store.dataSource.createQueryRunner();
  await runner.startTransaction();
  try {
    await work(runner);
    await runner.commitTransaction();
    throw new Error('it was committed');
  } catch (error) {
    await runner.rollbackTransaction();
    expect(runner.isTransactionActive).toBe(false);
    await expect(runner.query('SELECT 1')).rejects.toBe(error);
    return error as Error;
  } finally {
    await runner.release();
  }
}

describe('rollbackTransaction() in a catch block resolves', () => {
  it('after a commit that failed', async () => {
    const error = await transact((runner) => runner.manager.insert(Row, { id: '1', bedId: '7' }));
    expect(error).toBeInstanceOf(ConstraintError);
    expect(await store.dataSource.getRepository(Row).count()).toBe(0);
  });

  it.each(['', 'in a savepoint'])('after the time limit %s', async (nested) => {
    holdTimeouts();
    const error = await transact(async (runner) => {
      if (nested !== '') await runner.startTransaction();
      await runner.manager.insert(Bed, { id: '1', name: 'a' });
      passTimeouts(TRANSACTION_TIMEOUT_MS);
      if (nested !== '') await runner.rollbackTransaction();
      await runner.manager.insert(Bed, { id: '2', name: 'b' });
    });
    expect(error).toBeInstanceOf(StoreUnavailableError);
    resetClocks();
    expect(await listBeds()).toEqual([]);
  });
});

it('a query runner whose transaction could not begin writes nothing afterwards', async () => {
  // As many as there are connections for transactions.
  const holders = Array.from({ length: ENGINE === 'sqlite' ? 1 : 4 }, () =>
    store.dataSource.createQueryRunner(),
  );
  for (const holder of holders) await holder.startTransaction();
  holdTimeouts();
  const runner = store.dataSource.createQueryRunner();
  const refused = expect(runner.startTransaction()).rejects.toThrow(StoreUnavailableError);
  await until(() => jest.getTimerCount() > 0);
  passTimeouts(WAIT_TIMEOUT_MS);
  await refused;
  for (const holder of holders) await holder.release();
  const written = runner.manager.insert(Bed, { id: '1', name: 'a' });
  await expect(written).rejects.toThrow(StoreUnavailableError);
  await expect(runner.query('COMMIT')).rejects.toThrow('not by a statement');
  await runner.release();
  expect(await listBeds()).toEqual([]);
});

describe('a subscriber that uses the query runner of its event', () => {
  it.each(['beforeQuery', 'afterQuery'] as const)('is served in %s', async (method) => {
    const seen: string[] = [];
    const { dataSource } = store;
    dataSource.subscribers.push({
      [method]: async ({
        query,
        manager,
      }: {
        query: string;
        manager: typeof dataSource.manager;
      }) => {
        if (!query.includes('INSERT INTO "beds"')) return;
        seen.push(query);
        await manager.query(`INSERT INTO rows VALUES (${seen.length}, 1)`);
      },
    });
    await dataSource.transaction((manager) => manager.insert(Bed, { id: '1', name: 'a' }));
    const beds = Array.from({ length: 6 }, (_, index) => ({ id: `${index + 2}`, name: 'b' }));
    await Promise.all(beds.map((bed) => dataSource.getRepository(Bed).insert(bed)));
    const rows = new BatchedRepository(dataSource.getRepository(Bed));
    expect(await rows.create({ id: '9', name: 'c' })).toBe('created');
    expect(await dataSource.getRepository(Row).count()).toBe(7);
  });
});

describe('a statement that begins or ends a transaction is refused:', () => {
  it.each([
    'BEGIN',
    ' begin immediate',
    '/* now */ BEGIN',
    '-- now\nCOMMIT',
    'End',
    'ROLLBACK;',
    'SAVEPOINT mine',
    'RELEASE mine',
    // As TypeORM itself writes them.
    ENGINE === 'sqlite' ? 'BEGIN TRANSACTION' : 'START TRANSACTION',
    'COMMIT',
    'ROLLBACK',
    'SAVEPOINT typeorm_1',
    'BEGIN; INSERT INTO beds VALUES (1, $$a$$)',
    'INSERT INTO beds VALUES (1, 1); COMMIT',
    "INSERT INTO beds VALUES (1, 'a'); COMMIT AND CHAIN",
    "INSERT INTO beds VALUES (1, 'a'); ROLLBACK; BEGIN",
    "INSERT INTO beds VALUES (1, 'a;'); /* now */ COMMIT; BEGIN; SELECT 1 / 0",
    'SELECT 1; -- ;\n SAVEPOINT mine',
  ])('%s', async (sql) => {
    const { dataSource } = store;
    await dataSource
      .transaction(async (manager) => {
        await expect(manager.query(sql)).rejects.toThrow(/not by a statement|only the first/);
        throw new Error('undone');
      })
      .catch(() => undefined);
    if (!sql.includes(';')) {
      await expect(dataSource.query(sql)).rejects.toThrow('not by a statement');
    }
    await dataSource.query("INSERT INTO beds VALUES (2, 'b')");
    expect(await listBeds()).toEqual(['2 b']);
  });
});

it('query runners that are used after their release take no connection', async () => {
  const { dataSource } = store;
  const released = Array.from({ length: 6 }, () => dataSource.createQueryRunner());
  for (const runner of released) await runner.release();
  for (const runner of released) {
    await expect(runner.query('SELECT 1')).rejects.toThrow(QueryRunnerAlreadyReleasedError);
    await expect(runner.startTransaction()).rejects.toThrow(QueryRunnerAlreadyReleasedError);
  }
  await dataSource.transaction((manager) => manager.insert(Bed, { id: '1', name: 'a' }));
  expect(await listBeds()).toEqual(['1 a']);
});

it('a statement after the end of the program is refused at once', async () => {
  const other = await openEntityStore([Bed]);
  await other.close();
  await expect(other.dataSource.query('SELECT 1')).rejects.toThrow(
    /not established|not connected/i,
  );
});

describe('a migration has no time limit', () => {
  it.each([undefined, false])('with transaction = %p', async (transaction) => {
    const done: string[] = [];
    class Long1700000000000 implements MigrationInterface {
      readonly transaction = transaction as boolean;
      async up(runner: QueryRunner): Promise<void> {
        await this.move(runner, 'up');
      }
      async down(runner: QueryRunner): Promise<void> {
        await this.move(runner, 'down');
      }
      private async move(runner: QueryRunner, direction: string): Promise<void> {
        const sent = runner.query("INSERT INTO beds VALUES (1, 'a')");
        passTimeouts(TRANSACTION_TIMEOUT_MS);
        await sent;
        passTimeouts(TRANSACTION_TIMEOUT_MS);
        await runner.query('DELETE FROM beds');
        done.push(direction);
      }
    }
    const { dataSource } = store;
    dataSource.migrations.push(new Long1700000000000());
    holdTimeouts();
    await dataSource.runMigrations({ transaction: 'each' });
    await dataSource.undoLastMigration({ transaction: 'each' });
    expect(done).toEqual(['up', 'down']);
  });
});

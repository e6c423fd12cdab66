import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { StoreUnavailableError } from '../../src/platform/database/store-unavailable.error.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { holdTimeouts, passTimeouts, resetClocks } from '../support/clock.js';
import { type EntityStore, openEntityStore } from '../support/entity-store.js';

let opened: EntityStore;
let dataSource: StoreDataSource;

beforeEach(async () => {
  Logger.overrideLogger(false);
  opened = await openEntityStore([Plant]);
  ({ dataSource } = opened);
});

afterEach(async () => {
  resetClocks();
  await opened.close();
});

describe('a transaction of a module', () => {
  const insert = (manager: EntityManager, id: string): Promise<unknown> =>
    manager.insert(Plant, { id, name: 'n', tag: null });
  /** A time limit in milliseconds, which statements reach only on a clock that is moved. */
  const LIMIT = 600_000;
  const ROLLED_BACK = /A statement of this transaction has failed/;

  it.each<[string, (manager: EntityManager) => Promise<unknown>]>([
    ['an insert', (manager) => insert(manager, '1')],
    ['a query', (manager) => manager.query('SELECT 1 / 0')],
  ])('is rejected when the failure of a statement was caught: %s', async (_, fail) => {
    const caught: unknown[] = [];
    const done = dataSource.transaction(async (manager) => {
      await insert(manager, '1');
      await fail(manager).catch((error: unknown) => caught.push(error));
    });
    await expect(done).rejects.toThrow(ROLLED_BACK);
    await expect(done).rejects.not.toBeInstanceOf(StoreUnavailableError);
    expect(caught).toHaveLength(1);
    expect(await dataSource.getRepository(Plant).count()).toBe(0);
  });

  it('is rejected when a statement fails that nobody has waited for', async () => {
    const done = dataSource.transaction(async (manager) => {
      await insert(manager, '1');
      void manager.query('SELECT 1 / 0').catch(() => undefined);
    });
    await expect(done).rejects.toThrow(ROLLED_BACK);
    expect(await dataSource.getRepository(Plant).count()).toBe(0);
  });

  it('is rolled back as a whole when a nested one could not begin', async () => {
    const done = dataSource.transaction(async (manager) => {
      const nested = (id: string): Promise<unknown> =>
        manager.transaction((within) => insert(within, id)).catch(() => undefined);
      await insert(manager, '1');
      await nested('1');
      await insert(manager, '2');
      await insert(manager, '2').catch(() => undefined);
      await nested('3');
      await insert(manager, '4').catch(() => undefined);
    });
    await expect(done).rejects.toThrow(ROLLED_BACK);
    expect(await dataSource.getRepository(Plant).count()).toBe(0);
  });

  it('is committed when the failure of a nested one was caught', async () => {
    await dataSource.transaction(async (manager) => {
      await insert(manager, '1');
      const nested = manager.transaction((within) => insert(within, '1'));
      await expect(nested).rejects.toMatchObject({ kind: 'unique' });
      await manager.transaction((within) => insert(within, '2'));
    });
    expect(await dataSource.getRepository(Plant).count()).toBe(2);
  });

  it('has the time limit of a statement for each of those that begin together', async () => {
    const runner = dataSource.createQueryRunner();
    const other = dataSource.createQueryRunner();
    const locks = [1, 2, 3, 4];
    for (const lock of locks) await other.query('SELECT pg_advisory_lock($1)', [lock]);
    // Each statement but the first waits for its lock as long as it may.
    holdTimeouts();
    await runner.startTransaction();
    await runner.setTimeLimit(LIMIT);
    const statements = locks.map((lock) =>
      runner.query('SELECT pg_advisory_xact_lock($1)', [lock]),
    );
    for (const [index, lock] of locks.entries()) {
      passTimeouts(LIMIT);
      await other.query('SELECT pg_advisory_unlock($1)', [lock]);
      await statements[index];
    }
    await runner.commitTransaction();
    await runner.release();
    await other.release();
  });

  it('that was rejected ends the use of its query runner, and every refusal says why', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SELECT 1 / 0').catch(() => undefined);
    await expect(runner.commitTransaction()).rejects.toThrow(ROLLED_BACK);
    await expect(runner.rollbackTransaction()).rejects.toThrow(ROLLED_BACK);
    await expect(insert(runner.manager, '1')).rejects.toThrow(ROLLED_BACK);
    await runner.release();
    await insert(dataSource.manager, '2');
    expect(await dataSource.getRepository(Plant).count()).toBe(1);
  });

  it('names the constraint that its commit breaks', async () => {
    await dataSource.query(
      'ALTER TABLE plants ADD CONSTRAINT same UNIQUE (tag) DEFERRABLE INITIALLY DEFERRED',
    );
    const done = dataSource.transaction((manager) =>
      manager.insert(
        Plant,
        ['1', '2'].map((id) => ({ id, name: 'n', tag: 't' })),
      ),
    );
    await expect(done).rejects.toMatchObject({ kind: 'unique', properties: ['tag'] });
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { StoreUnavailableError } from '../../src/platform/database/store-unavailable.error.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { resetClocks } from '../support/clock.js';
import { type EntityStore, openEntityStore } from '../support/store.js';

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

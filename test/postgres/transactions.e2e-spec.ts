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

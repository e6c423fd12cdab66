import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import type { Repository } from 'typeorm';
import { StoreUnavailableError } from '../../src/platform/database/store-unavailable.error.js';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { type EntityStore, openEntityStore } from '../support/entity-store.js';
import { countDeadlocks, removeLockTimeout } from '../support/lock-waits.js';
import { TestStore } from '../support/test-store.js';

let store: TestStore;
let opened: EntityStore;
let plants: Repository<Plant>;
let rows: BatchedRepository<Plant>;
let session: pg.Client;

beforeEach(async () => {
  Logger.overrideLogger(false);
  store = await TestStore.create();
  opened = await openEntityStore([Plant], { url: store.url });
  plants = opened.dataSource.getRepository(Plant);
  rows = new BatchedRepository(plants);
  session = new pg.Client(store.url);
  await session.connect();
});

afterEach(async () => {
  await session.end();
  await opened.close();
  await store.remove();
});

function plant(id: number, name = `plant ${id}`): Plant {
  return { id: String(id), name, tag: null };
}

function ids(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe('a row whose key another session holds', () => {
  it('fails alone, and is decided once the other is done', async () => {
    await session.query('BEGIN');
    await session.query("INSERT INTO plants (id, name) VALUES (250, 'theirs')");
    const results = await Promise.allSettled(ids(500).map((id) => rows.create(plant(id))));
    const failed = results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ id: index + 1, status: toStatus(result.reason) }] : [],
    );
    expect(failed).toEqual([{ id: 250, status: 503 }]);
    await session.query('COMMIT');
    expect(await rows.create(plant(250))).toBe('different');
    expect(await plants.count()).toBe(500);
  });

  it('fails alone when it is to be replaced or removed', async () => {
    await Promise.all(ids(100).map((id) => rows.create(plant(id))));
    await session.query('BEGIN');
    await session.query('SELECT * FROM plants WHERE id IN (50, 60) FOR UPDATE');
    const results = await Promise.allSettled([
      ...ids(55).map((id) => rows.replace(plant(id, 'new'))),
      ...ids(45).map((id) => rows.remove(String(id + 55))),
    ]);
    const failed = results.flatMap(({ status }, index) =>
      status === 'rejected' ? [index + 1] : [],
    );
    expect(failed).toEqual([50, 60]);
    await session.query('ROLLBACK');
    expect(await plants.countBy({ name: 'new' })).toBe(54);
    expect(await plants.count()).toBe(56);
  });
});

function toStatus(error: unknown): unknown {
  return (error as { status?: unknown }).status;
}

describe('many rows that another session holds', () => {
  it('fail together, after one wait for their locks', async () => {
    await Promise.all(ids(400).map((id) => rows.create(plant(id))));
    await session.query('BEGIN');
    await session.query('SELECT * FROM plants WHERE id % 2 = 0 FOR UPDATE');
    const query = jest.spyOn(pg.Client.prototype, 'query');
    const results = await Promise.allSettled(
      ids(400).map((id) => (id % 3 === 0 ? rows.remove(String(id)) : rows.replace(plant(id)))),
    );
    expect(query.mock.calls.length).toBeLessThan(60);
    jest.restoreAllMocks();
    const failed = results.flatMap(({ status }, index) => (status === 'rejected' ? index + 1 : []));
    expect(failed).toEqual(ids(400).filter((id) => id % 2 === 0));
    await session.query('ROLLBACK');
  });
});

describe('transactions of modules', () => {
  it('cannot use up the connections of rows in groups', async () => {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const open = ids(4).map((id) =>
      opened.dataSource.transaction(async (manager) => {
        await manager.insert(Plant, plant(id));
        await ended;
      }),
    );
    expect(await rows.create(plant(10))).toBe('created');
    expect(await rows.find('10')).toEqual(plant(10));
    await opened.dataSource.probeWrite();
    end();
    await Promise.all(open);
  });

  it('take no longer for a statement than the default, or what the module says', async () => {
    await session.query('SELECT pg_advisory_lock(1)');
    const wait = (limit: number): Promise<unknown> =>
      opened.dataSource.withTimeLimit(limit, (manager) =>
        manager.query('SELECT pg_advisory_xact_lock(1)'),
      );
    const long = wait(600_000);
    await expect(wait(100)).rejects.toBeInstanceOf(StoreUnavailableError);
    await session.query('SELECT pg_advisory_unlock(1)');
    await long;
    const limits = await Promise.all(
      ids(4).map(() => opened.dataSource.query<object[]>('SHOW statement_timeout')),
    );
    expect(limits.flat()).toEqual(ids(4).map(() => ({ statement_timeout: '4s' })));
  });

  it('leave no transaction open on a connection that they return', async () => {
    const runner = opened.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.manager.insert(Plant, plant(1));
    await runner.release();
    expect(await plants.count()).toBe(0);
    const { rows: open } = await session.query(
      "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'",
    );
    expect(open).toEqual([]);
  });
});

it('changes of the same rows in opposite orders do not wait for each other for ever', async () => {
  await Promise.all(ids(300).map((id) => rows.create(plant(id))));
  const other = await openEntityStore([Plant], { url: store.url });
  const theirs = new BatchedRepository(other.dataSource.getRepository(Plant));
  // On a busy machine, the lock timeout could fail a row without a deadlock.
  for (const { dataSource } of [opened, other]) await removeLockTimeout(dataSource);
  const query = jest.spyOn(pg.Client.prototype, 'query');
  for (let round = 0; round < 5; round++) {
    const outcomes = await Promise.all([
      ...ids(300).map((id) => rows.replace(plant(id, `ours ${round}`))),
      ...ids(300)
        .reverse()
        .map((id) => theirs.replace(plant(id, `theirs ${round}`))),
    ]);
    expect(new Set(outcomes)).toEqual(new Set([true]));
  }
  expect(await countDeadlocks(query)).toBe(0);
  query.mockRestore();
  await other.close();
});

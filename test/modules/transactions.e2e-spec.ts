import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { text as join } from 'node:stream/consumers';
import { BatchedRepository, JsonText, StoreUnavailableError } from 'durable-rest';
import type { EntityManager, QueryRunner } from 'typeorm';
import { Plant } from '../fixtures/plant.entity.js';
import { holdTimeouts, passTimeouts, resetClocks } from 'durable-rest/testing';
import { listStoredIds, openEntityStore, plant, usePlantStore } from '../support/store.js';

/** More than any transaction of these tests takes on a busy machine. */
const TRANSACTION_TIMEOUT_MS = 600_000;

const store = usePlantStore({ TRANSACTION_TIMEOUT_MS });

afterEach(resetClocks);

describe('a transaction', () => {
  it('is not seen from outside before its commit, and holds no reader up', async () => {
    await store.dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      expect(await listStoredIds(store)).toEqual([]);
      expect(await store.rows.find('1')).toBeUndefined();
    });
    expect(await listStoredIds(store)).toEqual([1]);
  });

  it('is rolled back when its query runner is released without a commit', async () => {
    const runner = store.dataSource.createQueryRunner();
    await runner.connect();
    await runner.startTransaction();
    await runner.manager.insert(Plant, plant(1));
    await runner.release();
    expect(await store.rows.create(plant(2))).toBe('created');
    expect(await listStoredIds(store)).toEqual([2]);
  });

  it('that is left open is rolled back, its module gets an error, and the log says whose it was', async () => {
    // Less than the create below may wait.
    const limited = await openEntityStore([Plant], { TRANSACTION_TIMEOUT_MS: 4_000 });
    const own = new BatchedRepository(limited.dataSource.getRepository(Plant));
    const warned = jest.spyOn(Logger.prototype, 'warn');
    let waiting: Promise<unknown> | undefined;
    holdTimeouts();
    const leftOpen = limited.dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      waiting = own.create(plant(3));
      passTimeouts(4_000);
      await manager.insert(Plant, plant(2));
    });
    await expect(leftOpen).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await waiting).toBe('created');
    expect((await own.list({ limit: 10 })).rows).toEqual([plant(3)]);
    const said = String(warned.mock.calls[0]?.[0]);
    expect(said).toMatch(
      /longer than 4000 ms \(TRANSACTION_TIMEOUT_MS\)[^]*transactions\.e2e-spec/,
    );
    warned.mockRestore();
    await limited.close();
  });

  it('may take longer if its module allows that', async () => {
    holdTimeouts();
    await store.dataSource.withTimeLimit(3 * TRANSACTION_TIMEOUT_MS, (manager) =>
      manager.transaction(async (within) => {
        await within.insert(Plant, plant(1));
        passTimeouts(2 * TRANSACTION_TIMEOUT_MS);
        await within.insert(Plant, plant(2));
      }),
    );
    expect(await listStoredIds(store)).toEqual([1, 2]);
  });

  it('gives its connection back at the end of the time limit that its module has set', async () => {
    const runners: (QueryRunner | undefined)[] = [];
    const work = async ({ queryRunner }: EntityManager): Promise<void> => {
      runners.push(queryRunner);
      await queryRunner?.query(runners.length === 1 ? 'SELECT 1' : 'SELECT wrong');
    };
    await store.dataSource.withTimeLimit(TRANSACTION_TIMEOUT_MS, work);
    await expect(store.dataSource.withTimeLimit(TRANSACTION_TIMEOUT_MS, work)).rejects.toThrow();
    expect(runners).toMatchObject([{ isReleased: true }, { isReleased: true }]);
  });

  it.each([0, -1, 1.5, NaN, Infinity, 2 ** 31])('gets no time limit of %d ms', async (limit) => {
    const work = jest.fn<() => Promise<void>>();
    const limited = store.dataSource.withTimeLimit(limit, work);
    await expect(limited).rejects.toThrow(RangeError);
    expect(work).not.toHaveBeenCalled();
  });
});

it('rows that are written with the manager of a transaction are part of it: they go with it', async () => {
  await store.rows.create(plant(1));
  const undone = store.dataSource.transaction(async (manager) => {
    expect(await store.rows.create(plant(2), manager)).toBe('created');
    expect(await store.rows.create(plant(1), manager)).toBe('identical');
    expect(await store.rows.replace(plant(1, 'new'), undefined, manager)).toBe(true);
    expect(await store.rows.remove('2', undefined, manager)).toBe(true);
    expect(await store.rows.create(plant(3), manager)).toBe('created');
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect(await store.plants.find()).toEqual([plant(1)]);
});

it.each([
  ['as lines', 'lines', 1],
  ['as an array', 'array', 1],
  ['piece by piece', 'array', 200_000],
] as const)(
  'pages that are read with the manager of a transaction show what it has written, %s',
  async (_, format, length) => {
    const names = ['a', 'b', 'c'].map((letter) => letter.repeat(length));
    await store.dataSource.transaction(async (manager) => {
      for (const [index, name] of names.entries())
        await store.rows.create(plant(index, name), manager);
      const { json } = await store.rows.page({ limit: 10, format }, {}, manager);
      const text = json instanceof JsonText ? json.text : await join(json);
      expect(names.filter((name) => !text.includes(name))).toEqual([]);
    });
  },
);

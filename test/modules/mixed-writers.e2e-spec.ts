import { expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { Plant } from '../fixtures/plant.entity.js';
import { SeededRandom } from '../support/seeded-random.js';
import { plant as plantWithId, usePlantStore } from '../support/store.js';

const SEED = 7;
const WRITERS = 8;
const WRITES = 40;
/** Lasts until it is interrupted. */
const ENDLESS = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
  SELECT count(*) FROM numbers`;

const undone = new Error('undone');
const store = usePlantStore();

it('creates, saves and transactions lose, mix and half keep nothing', async () => {
  const { dataSource, plants, rows } = store;
  const random = new SeededRandom(SEED);
  /** The ids that must be stored in the end. */
  const expected = new Set<string>();
  let lastId = 0;
  const plant = (): Plant => plantWithId(++lastId, 'n');
  const keep = (...stored: readonly Plant[]): void => stored.forEach(({ id }) => expected.add(id));

  /** Executes a transaction, whose rows are all stored or none. */
  const transact = async (
    stored: readonly Plant[],
    work: (manager: EntityManager) => Promise<unknown>,
    limit = 600_000,
  ): Promise<void> => {
    const run = dataSource.withTimeLimit(limit, (manager) => manager.transaction(work));
    await run.then(
      () => keep(...stored),
      () => undefined,
    );
  };

  const KINDS: readonly [() => Promise<void>, ...(() => Promise<void>)[]] = [
    async () => {
      const row = plant();
      expect(await rows.create(row)).toBe('created');
      keep(row);
    },
    async () => {
      const [one, other] = [plant(), plant()];
      await plants.save([one, other]);
      keep(one, other);
    },
    async () => {
      const [one, other, third] = [plant(), plant(), plant()];
      await transact([one, other, third], async (manager) => {
        await manager.save(Plant, one);
        await rows.create(other, manager);
        expect(await manager.countBy(Plant, { name: 'n' })).toBeGreaterThan(1);
        await manager.save(Plant, third);
      });
    },
    async () => {
      const [outer, inner, last] = [plant(), plant(), plant()];
      await transact([outer, inner, last], async (manager) => {
        await manager.insert(Plant, outer);
        await manager.transaction((nested) => nested.insert(Plant, inner));
        const failing = manager.transaction(async (nested) => {
          await nested.insert(Plant, plant());
          throw undone;
        });
        await expect(failing).rejects.toBe(undone);
        await manager.insert(Plant, last);
      });
    },
    async () => {
      const together = Array.from({ length: 4 }, plant);
      await transact(together, async (manager) => {
        await Promise.all(together.map((row) => manager.insert(Plant, row)));
      });
    },
    async () => {
      const [awaited, forgotten] = [plant(), plant()];
      let late: Promise<void> | undefined;
      await transact([awaited], async (manager) => {
        late = manager.insert(Plant, forgotten).then(
          () => keep(forgotten),
          () => undefined,
        );
        await manager.insert(Plant, awaited);
      });
      await late;
    },
    async () => {
      const row = plant();
      const late = async (manager: EntityManager): Promise<unknown> => {
        await manager.insert(Plant, row);
        const query = manager.query(ENDLESS);
        return await Promise.allSettled([query, manager.insert(Plant, plant())]);
      };
      await transact([row], late, 5);
      expect(expected).not.toContain(row.id);
    },
  ];

  const write = async (): Promise<void> => {
    for (let count = 0; count < WRITES; count++) await random.pick(...KINDS)();
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const stored = (await plants.find()).map(({ id }) => id);
  expect(new Set(stored)).toEqual(expected);
  expect(expected.size).toBeGreaterThan(WRITERS * WRITES);
});

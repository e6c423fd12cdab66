import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { tmpdir } from 'node:os';
import pg from 'pg';
import { createDataSourceOptions } from '../../../../src/platform/database/data-source/data-source-options.js';
import { openDatabase } from '../../../../src/platform/database/data-source/open-database.js';
import { ErrorCatalogue } from '../../../../src/platform/errors/error-catalogue.js';
import { Plant } from '../../../../src/modules/plants/plant.entity.js';
import { countDeadlocks, removeLockTimeout } from '../../../support/lock-waits.js';
import { Program } from '../../../support/program.js';
import { BatchedRepository } from '../../../../src/platform/database/batched-repository.js';
import { schema } from '../../../../src/schema.js';
import { TestStore } from '../../../support/test-store.js';

const TOKEN = 't';
const REPLICAS = 4;

interface NewPlant {
  readonly id: number;
  readonly name: string;
}

let store: TestStore;
let programs: Program[];
let addresses: string[];

beforeAll(async () => {
  store = await TestStore.create();
  // All at once, on an empty database.
  programs = Array.from({ length: REPLICAS }, () =>
    Program.start(tmpdir(), { DATABASE_URL: store.url, ACCESS_TOKENS: TOKEN, LOG_LEVEL: 'info' }),
  );
  addresses = await Promise.all(programs.map((program) => program.listening()));
});

afterAll(async () => {
  for (const program of programs) program.kill('SIGTERM');
  const exits = await Promise.all(programs.map((program) => program.exited()));
  await store.remove();
  expect(exits).toEqual(programs.map(() => 0));
});

/** Resolves with 200, or with the code of the error. */
async function create(address: string, plant: NewPlant): Promise<number> {
  const response = await fetch(`${address}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(plant),
  });
  const { error = response.status } = (await response.json()) as { error?: number };
  // On a busy machine, another replica may hold the row for long.
  return error === ErrorCatalogue.UNAVAILABLE.error ? await create(address, plant) : error;
}

async function stored(): Promise<Map<number, string>> {
  const client = new pg.Client(store.url);
  await client.connect();
  const { rows } = await client.query<{ id: string; name: string }>('SELECT id, name FROM plants');
  await client.end();
  return new Map(rows.map(({ id, name }) => [Number(id), name]));
}

/**
 * Sends the plants to every replica at once, each in its own order. Resolves with the one winner of
 * each id.
 */
async function race(plantsOf: (replica: number) => NewPlant[]): Promise<Map<number, string>> {
  const outcomes = await Promise.all(
    addresses.flatMap((address, replica) =>
      plantsOf(replica).map(async (plant) => ({ plant, outcome: await create(address, plant) })),
    ),
  );
  const winners = new Map<number, string>();
  for (const { plant, outcome } of outcomes) {
    if (outcome !== 200) continue;
    expect(winners.has(plant.id)).toBe(false);
    winners.set(plant.id, plant.name);
  }
  const wrong = outcomes.filter(({ plant: { id, name }, outcome }) => {
    const lost = winners.get(id) === name ? 40_901 : 40_900;
    return outcome !== 200 && outcome !== lost;
  });
  expect(wrong).toEqual([]);
  return winners;
}

function ids(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

it('exactly one of the plants with one id that all replicas get at once is created', async () => {
  const winners = await race((replica) =>
    ids(1, 40).flatMap((id) => [
      { id, name: 'the same everywhere' },
      { id, name: replica % 2 === 0 ? 'even' : 'odd' },
    ]),
  );
  expect(await stored()).toEqual(winners);
});

it('commits with the same ids in opposite orders do not wait for each other for ever', async () => {
  const options = createDataSourceOptions(
    { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 2 },
    schema,
  );
  const dataSource = await openDatabase({ ...options, logger: 'debug' });
  // On a busy machine, the lock timeout could fail a row without a deadlock.
  await removeLockTimeout(dataSource);
  const query = jest.spyOn(pg.Client.prototype, 'query');
  const repository = dataSource.getRepository(Plant);
  const [one, other] = [new BatchedRepository(repository), new BatchedRepository(repository)];
  for (let round = 1; round <= 10; round++) {
    const plants = ids(round * 10_000, 1_000).map((id) => ({
      id: String(id),
      name: 'Monstera',
      tag: null,
    }));
    const outcomes = await Promise.all([
      ...plants.map((plant) => one.create(plant)),
      ...plants.toReversed().map((plant) => other.create(plant)),
    ]);
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(plants.length);
  }
  expect(await countDeadlocks(query)).toBe(0);
  query.mockRestore();
  await dataSource.destroy();
});

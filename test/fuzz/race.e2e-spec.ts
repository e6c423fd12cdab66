import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HttpClient } from '../support/http/client.js';
import { makeCreateRequest, type NewPlant } from '../support/plant-requests.js';
import { TestApp } from '../support/test-app.js';

// The fuzzer sends requests about one id one after another, to know their order. Here they run
// concurrently: in any order, the answers must agree with each other.

const SEED = 20_240_613;
const RACES = 150;
const CLIENTS = 7;

let app: TestApp;
let clients: HttpClient[];

beforeAll(async () => {
  app = await TestApp.start();
  clients = Array.from({ length: CLIENTS }, () => new HttpClient(app.url));
});
afterAll(async () => {
  for (const client of clients) client.close();
  await app.close();
});

const entry: fc.Arbitrary<Omit<NewPlant, 'id'>> = fc.constantFrom<Omit<NewPlant, 'id'>[]>(
  { name: 'a' },
  { name: 'b' },
  { name: 'a', tag: '' },
);

async function create(plant: NewPlant, index: number): Promise<number> {
  const client = clients[index];
  if (client === undefined) throw new TypeError('there are more plants than clients');
  const { status, body } = await client.send(makeCreateRequest(plant));
  const { error = status } = JSON.parse(body) as { error?: number };
  return error;
}

/** The expected outcomes of creates, if the first is the one that was created. */
function rightOutcomes(plants: readonly NewPlant[], outcomes: readonly number[]): number[] {
  const first = outcomes.indexOf(200);
  const winner = plants[first];
  return plants.map(({ name, tag }, index) => {
    if (index === first) return 200;
    return name === winner?.name && tag === winner.tag ? 40901 : 40900;
  });
}

it(`creates one of several plants with one id that come at once, seed ${SEED}`, async () => {
  let lastId = 0n;
  const races = fc.asyncProperty(
    fc.array(entry, { minLength: 2, maxLength: 6 }),
    async (entries) => {
      const id = ++lastId;
      const plants = entries.map((one) => ({ id, ...one }));
      // These creates arrive while another plant is being stored, and are stored together.
      const other = create({ id: -id, name: 'other' }, CLIENTS - 1);
      const outcomes = await Promise.all(plants.map(create));
      expect(outcomes).toEqual(rightOutcomes(plants, outcomes));
      expect(await other).toBe(200);
    },
  );
  await fc.assert(races, { seed: SEED, numRuns: RACES });
});

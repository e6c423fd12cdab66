import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { DataSource } from 'typeorm';
import { backUpStore } from '../../src/commands/back-up-store.js';
import { checkStore } from '../../src/commands/check-store.js';
import { copyStore } from '../../src/commands/copy-store.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { ConstraintError } from '../../src/platform/database/constraint.error.js';
import type { ErrorKind } from '../../src/platform/errors/error-catalogue.js';
import { resetClocks, stopClock } from '../support/clock.js';
import { listCauses } from '../support/error-fixtures.js';
import { expectError } from '../support/expect-error.js';
import { HttpClient } from '../support/http/client.js';
import { inNewFolder } from '../support/new-folder.js';
import { AUTHORIZATION, CONTENT_TYPE, makeRequest } from '../support/plant-requests.js';
import { TestApp } from '../support/test-app.js';
import { ENGINE, TestStore } from '../support/test-store.js';
import { addToSchema } from '../support/add-to-schema.js';
import { EXAMPLE_MODULES, EXAMPLE_SCHEMA } from './example.js';
import { Garden } from './gardens/garden.entity.js';
import gardenCauses from './gardens/gardens.error-fixtures.js';
import { GardenErrors } from './gardens/gardens.errors.js';
import { Planting } from './plantings/planting.entity.js';
import plantingCauses from './plantings/plantings.error-fixtures.js';
import { PlantingErrors } from './plantings/plantings.errors.js';
import { PlantingsNight } from './plantings/plantings.night.js';

addToSchema(EXAMPLE_SCHEMA);

let app: TestApp;
let store: DataSource;
/** The ids of two gardens, in their order. */
let gardens: readonly [string, string];

beforeAll(async () => {
  app = await TestApp.start({}, ...EXAMPLE_MODULES);
  store = app.nest.get(DataSource);
});
afterAll(() => app.close());

beforeEach(async () => {
  for (const entity of [Planting, Garden, Plant]) {
    await store.createQueryBuilder().delete().from(entity).execute();
  }
  gardens = [await createGarden('north'), await createGarden('south')];
  for (const id of [1, 2]) await app.create(`{"id":${id},"name":"plant ${id}"}`);
});

async function createGarden(name: string): Promise<string> {
  const others = '"kind":"herb","area":1.5,"openedAt":"2026-01-01T10:00:00Z"';
  const { body } = await app.post('/gardens', `{"name":"${name}",${others}}`);
  return (body as { id: string }).id;
}

async function plant(gardenId: string, plantId: number, quantity: number): Promise<void> {
  const planting = { gardenId, plantId, plantedOn: '2026-11-22', quantity };
  const answer = await app.post('/plantings', JSON.stringify(planting));
  expect(answer).toMatchObject({ status: 200 });
}

/** Moves plants with the id 1 between the two gardens. */
function move(
  fromGardenId: string,
  toGardenId: string,
  quantity: number,
): ReturnType<typeof app.post> {
  const body = { plantId: 1, fromGardenId, toGardenId, quantity, plantedOn: '2026-11-23' };
  return app.post('/plantings/moves', JSON.stringify(body));
}

/** Reads the quantities of the plant with the id 1 in both gardens. */
async function quantities(): Promise<(number | undefined)[]> {
  const found = await store.getRepository(Planting).findBy({ plantId: '1' });
  return gardens.map((id) => found.find(({ gardenId }) => gardenId === id)?.quantity);
}

const CAUSES = [...listCauses(gardenCauses), ...listCauses(plantingCauses)];

it.each(CAUSES)('the error %s is answered', async (_, entry, cause) => {
  const own = await TestApp.start({}, ...EXAMPLE_MODULES);
  expectError(await cause(own), entry);
  await own.close();
});

describe('a move between gardens', () => {
  it('takes from one and gives to the other', async () => {
    await plant(gardens[0], 1, 5);
    expect(await move(...gardens, 2)).toMatchObject({ status: 204 });
    expect(await quantities()).toEqual([3, 2]);
  });

  it('leaves both as they are where one cannot be changed', async () => {
    await plant(gardens[0], 1, 5);
    expectError(await move(...gardens, 6), PlantingErrors.QUANTITY_OUT_OF_RANGE);
    expectError(await move(gardens[1], gardens[0], 1), PlantingErrors.PLANTING_NOT_FOUND);
    const nowhere = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
    expectError(await move(gardens[0], nowhere, 1), PlantingErrors.NO_SUCH_GARDEN);
    expect(await quantities()).toEqual([5, undefined]);
  });

  it('loses nothing beside many others, both ways', async () => {
    await plant(gardens[0], 1, 10);
    await plant(gardens[1], 1, 10);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        index % 2 === 0 ? move(...gardens, 3) : move(gardens[1], gardens[0], 3),
      ),
    );
    // On a busy machine, some may be refused.
    for (const { status } of answers) expect([204, 409, 503]).toContain(status);
    const [north = -1, south = -1] = await quantities();
    expect(north + south).toBe(20);
    expect(Math.min(north, south)).toBeGreaterThanOrEqual(0);
  });
});

it('labels have the names of plants', async () => {
  await plant(gardens[0], 2, 7);
  await plant(gardens[0], 1, 5);
  await plant(gardens[1], 1, 1);
  expect((await app.get(`/plantings/labels?gardenId=${gardens[0]}`)).text).toBe(
    '[{"plantId":1,"name":"plant 1","quantity":5},{"plantId":2,"name":"plant 2","quantity":7}]',
  );
});

it('the export has a line for each planting', async () => {
  await plant(gardens[1], 1, 5);
  await plant(gardens[0], 2, 6);
  const { text, headers } = await app.get('/plantings/export');
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(text.split('\r\n')).toEqual([
    'gardenId,plantId,plantedOn,quantity',
    `${gardens[0]},2,2026-11-22,6`,
    `${gardens[1]},1,2026-11-22,5`,
    '',
  ]);
});

it('the night removes empty plantings, once a day', async () => {
  await plant(gardens[0], 1, 0);
  await plant(gardens[1], 1, 1);
  const night = app.nest.get(PlantingsNight);
  expect([await night.tidy(), await night.tidy()]).toEqual([true, false]);
  expect(await quantities()).toEqual([undefined, 1]);
});

describe("TypeORM's own writes", () => {
  /** Writes that violate a constraint, with the error that the module has named for it. */
  const WRITES: readonly (readonly [string, ErrorKind, () => Promise<unknown>])[] = [
    [
      'save() of a name that is in use',
      GardenErrors.NAME_IN_USE,
      async () => {
        const north = await store.getRepository(Garden).findOneByOrFail({ name: 'north' });
        await store.getRepository(Garden).save({ ...north, name: 'south' });
      },
    ],
    [
      'insert() for a garden that is not there',
      PlantingErrors.NO_SUCH_GARDEN,
      () => insert('00000000-0000-4000-8000-000000000404', '1'),
    ],
    [
      'save() for a plant that is not there',
      PlantingErrors.NO_SUCH_PLANT,
      () =>
        store
          .getRepository(Planting)
          .save({ gardenId: gardens[0], plantId: '404', plantedOn: '2026-11-22', quantity: 1 }),
    ],
    [
      'delete() of a garden with plantings, in a transaction',
      GardenErrors.GARDEN_IN_USE,
      async () => {
        await insert(gardens[0], '1');
        await store.transaction((manager) => manager.delete(Garden, gardens[0]));
      },
    ],
  ];

  async function insert(gardenId: string, plantId: string): Promise<void> {
    const planting = { gardenId, plantId, plantedOn: '2026-11-22', quantity: 1 };
    await store.getRepository(Planting).insert(planting);
  }

  it.each(WRITES)('%s has the error of its feature', async (_, { error }, write) => {
    const failure = await write().catch((reason: unknown) => reason);
    expect(failure).toBeInstanceOf(ConstraintError);
    expect((failure as ConstraintError).toApiError().body.error).toBe(error);
  });
});

describe('pages of plantings', () => {
  const KEYS = 25;

  it.each([
    ['', false],
    ['sort=plantedOn&', false],
    ['sort=-plantedOn&', true],
  ])('have each planting once, in their order: %s', async (query, isReverse) => {
    const plants = Array.from({ length: KEYS }, (_, index) => index * 3 - 20);
    for (const id of plants) await app.create(`{"id":${id},"name":"n"}`);
    for (const id of plants) {
      for (const garden of gardens) await plant(garden, id, 1);
    }
    const ordered = gardens.flatMap((garden) => plants.map((id) => `${garden} ${id}`));
    const pages = await app.getPages(`/plantings?${query}limit=7`);
    const rows = pages.flatMap(({ body }) => body as { gardenId: string; plantId: number }[]);
    const seen = rows.map(({ gardenId, plantId }) => `${gardenId} ${plantId}`);
    expect(seen).toEqual(isReverse ? ordered.toReversed() : ordered);
  });
});

it('1,000 replaces of one planting with a true If-None-Match are all done', async () => {
  await plant(gardens[0], 1, 0);
  // However slow this machine is, no request waits too long.
  stopClock();
  const idle = jest.spyOn(performance, 'eventLoopUtilization');
  idle.mockReturnValue({ idle: 0, active: 0, utilization: 0 });
  const request = makeRequest('{"plantedOn":"2026-11-22","quantity":7}', {
    method: 'PUT',
    target: `/plantings/${gardens[0]}/1`,
    headers: [AUTHORIZATION, CONTENT_TYPE, ['If-None-Match', '"another"']],
  });
  // These clients wait for a connection for any time; fetch() would give up.
  const clients = Array.from({ length: 1_000 }, () => new HttpClient(app.url));
  const answers = await Promise.all(clients.map((client) => client.send(request)));
  for (const client of clients) client.close();
  idle.mockRestore();
  resetClocks();
  expect(answers.filter(({ status }) => status !== 200).map(({ body }) => body)).toEqual([]);
});

describe('a store with gardens and plantings', () => {
  beforeEach(async () => {
    await plant(gardens[0], 1, 5);
    await plant(gardens[1], 2, 7);
    await app.patch(`/gardens/${gardens[0]}`, '{"details":{"n":9007199254740993},"area":1e-2}');
  });

  /** Lists all gardens and plantings of a store. */
  async function listContents(url: string): Promise<string[]> {
    const { DATABASE_URL } = process.env;
    const copied = await TestApp.start({ DATABASE_URL: url }, ...EXAMPLE_MODULES);
    const answers = [await copied.get('/gardens'), await copied.get('/plantings')];
    await copied.close();
    Object.assign(process.env, { DATABASE_URL });
    return answers.map(({ text }) => text);
  }

  async function expectSame(url: string): Promise<void> {
    const own = [await app.get('/gardens'), await app.get('/plantings')];
    expect(await listContents(url)).toEqual(own.map(({ text }) => text));
  }

  it('is copied to the other engine and back', async () => {
    const other = process.env.TEST_POSTGRES_URL === undefined ? 'sqlite' : 'postgres';
    const between = await TestStore.create(ENGINE === 'sqlite' ? other : 'sqlite');
    const after = await TestStore.create();
    try {
      await copyStore(app.storeUrl, between.url, () => undefined);
      const tables = await copyStore(between.url, after.url, () => undefined);
      expect(tables).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ table: 'gardens', rows: 2 }),
          expect.objectContaining({ table: 'plantings', rows: 2 }),
        ]),
      );
      await expectSame(after.url);
    } finally {
      await between.remove();
      await after.remove();
    }
  });

  const onSqlite = ENGINE === 'sqlite' ? it : it.skip;

  onSqlite('is backed up and checked', async () => {
    const path = app.storeUrl.replace('sqlite:', '');
    await inNewFolder(async (folder) => {
      const copy = join(folder, 'copy.db');
      await backUpStore(path, copy, () => undefined);
      for (const file of [path, copy]) {
        const { faults, contents } = await checkStore(file);
        expect(faults).toEqual([]);
        expect(contents).toEqual(
          expect.arrayContaining(['gardens: 2', 'plantings: 2', 'plants: 2, id from 1 to 2']),
        );
      }
      await expectSame(`sqlite:${copy}`);
    });
  });
});

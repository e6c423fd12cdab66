import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { ConstraintError, toApiError } from 'durable-rest';
import { type Answer, expectError, resetClocks, setClockBy } from 'durable-rest/testing';
import { NurseryApp } from '../../test/nursery-app.js';
import { Planting } from './planting.entity.js';
import { PlantingErrors } from './plantings.errors.js';
import { PlantingsNight } from './plantings.night.js';

const NORTH = '00000000-0000-4000-8000-000000000001';
const SOUTH = '00000000-0000-4000-8000-000000000002';
const VALID = { gardenId: NORTH, varietyId: 1, plantedOn: '2026-11-22', quantity: 5 };

const app = NurseryApp.forAll();
let store: DataSource;

beforeAll(() => {
  store = app.nest.get(DataSource);
});

beforeEach(async () => {
  // The plantings go with their varieties.
  await app.query('DELETE FROM varieties');
  await addVarieties(1, 2);
});

async function addVarieties(...ids: number[]): Promise<void> {
  const rows = ids.map((id) => `(${id}, 'variety ${id}')`);
  await app.query(`INSERT INTO varieties (id, name) VALUES ${rows.join()}`);
}

function create(changes: object = {}): Promise<Answer> {
  return app.post('/plantings', JSON.stringify({ ...VALID, ...changes }));
}

describe('/plantings', () => {
  const path = `/plantings/${NORTH}/1`;

  it('has a planting as it was created and changed, until it is removed', async () => {
    expect((await create()).text).toBe('{"plantedOn":"2026-11-22","quantity":5}');
    expect((await app.get(path)).text).toBe(JSON.stringify(VALID));
    expect(await app.put(path, JSON.stringify({ ...VALID, quantity: 6 }))).toMatchObject({
      status: 200,
    });
    expect(await app.patch(path, '{"plantedOn":"2026-11-23"}')).toMatchObject({ status: 200 });
    const changed = { ...VALID, plantedOn: '2026-11-23', quantity: 6 };
    expect((await app.get(path)).text).toBe(JSON.stringify(changed));
    expect(await app.delete(path)).toMatchObject({ status: 204, text: '' });
    for (const answer of [
      await app.get(path),
      await app.put(path, JSON.stringify(VALID)),
      await app.patch(path, '{}'),
      await app.delete(path),
    ]) {
      expectError(answer, PlantingErrors.PLANTING_NOT_FOUND);
    }
  });

  it('answers with errors of its own', async () => {
    await create();
    expectError(await create(), PlantingErrors.ALREADY_EXISTS);
    expectError(await create({ quantity: 1 }), PlantingErrors.KEY_IN_USE);
    expectError(await create({ varietyId: 404 }), PlantingErrors.NO_SUCH_VARIETY);
    const fault = expect.stringContaining('quantity must not be less than 0');
    expectError(await create({ quantity: -1 }), 'INVALID_BODY', fault);
  });

  it('changes a planting only where If-Match has its ETag', async () => {
    await create();
    const condition = { 'If-Match': (await app.get(path)).headers.get('etag') ?? '' };
    expect(await app.patch(path, '{"quantity":6}', condition)).toMatchObject({ status: 200 });
    expectError(await app.delete(path, condition), 'PRECONDITION_FAILED');
  });

  it.each([
    ['', false],
    ['sort=plantedOn&', false],
    ['sort=-plantedOn&', true],
  ])('lists each planting once, in their order: %s', async (query, isReverse) => {
    await addVarieties(-7, -2, 3, 8);
    const varieties = [-7, -2, 1, 3, 8];
    const keys = [NORTH, SOUTH].flatMap((gardenId) =>
      varieties.map((varietyId) => ({ gardenId, varietyId })),
    );
    for (const key of keys) await create(key);
    const pages = await app.getPages(`/plantings?${query}limit=3`);
    const rows = pages.flatMap(({ body }) => body as object[]);
    const wanted = keys.map((key) => ({ ...VALID, ...key }));
    expect(rows).toEqual(isReverse ? wanted.toReversed() : wanted);
    const { body } = await app.get(`/plantings?gardenId=${SOUTH}&varietyId=3&plantedOn=2026-11-22`);
    expect(body).toEqual([{ ...VALID, gardenId: SOUTH, varietyId: 3 }]);
  });

  it('lists labels with the names of varieties', async () => {
    await create({ varietyId: 2, quantity: 7 });
    await create();
    await create({ gardenId: SOUTH });
    expect((await app.get(`/plantings/labels?gardenId=${NORTH}`)).text).toBe(
      '[{"varietyId":1,"name":"variety 1","quantity":5},{"varietyId":2,"name":"variety 2","quantity":7}]',
    );
  });

  it('exports a line for each planting', async () => {
    await create();
    const { text, headers } = await app.get('/plantings/export');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(text).toBe(`gardenId,varietyId,plantedOn,quantity\r\n${NORTH},1,2026-11-22,5\r\n`);
  });
});

describe('a move between gardens', () => {
  function move(fromGardenId: string, toGardenId: string, quantity: number): Promise<Answer> {
    const body = { varietyId: 1, fromGardenId, toGardenId, quantity, plantedOn: '2026-11-23' };
    return app.post('/plantings/moves', JSON.stringify(body));
  }

  async function quantities(): Promise<(number | undefined)[]> {
    const found = await store.getRepository(Planting).findBy({ varietyId: 1 });
    return [NORTH, SOUTH].map((id) => found.find(({ gardenId }) => gardenId === id)?.quantity);
  }

  it('takes from one and gives to the other, or leaves both as they are', async () => {
    await create();
    expect(await move(NORTH, SOUTH, 2)).toMatchObject({ status: 204 });
    expect(await quantities()).toEqual([3, 2]);
    expectError(await move(NORTH, SOUTH, 4), PlantingErrors.QUANTITY_OUT_OF_RANGE);
    const nowhere = '00000000-0000-4000-8000-000000000003';
    expectError(await move(nowhere, SOUTH, 1), PlantingErrors.PLANTING_NOT_FOUND);
    expect(await quantities()).toEqual([3, 2]);
  });
});

it('the night removes empty plantings, once a day', async () => {
  await create({ quantity: 0 });
  await create({ gardenId: SOUTH });
  const night = app.nest.get(PlantingsNight);
  const runs = await Promise.all([night.tidy(), night.tidy(), night.tidy()]);
  expect(runs.filter(Boolean)).toHaveLength(1);
  expect(await store.getRepository(Planting).find()).toMatchObject([{ gardenId: SOUTH }]);
  setClockBy(24 * 3_600);
  expect([await night.tidy(), await night.tidy()]).toEqual([true, false]);
  resetClocks();
});

it.each(['insert', 'save'] as const)(
  "TypeORM's own %s() has the error that the module has named for a constraint",
  async (write) => {
    const planting = { ...VALID, varietyId: 404 };
    const plantings = store.getRepository(Planting);
    const failure = await plantings[write](planting).catch((reason: unknown) => reason);
    expect(failure).toBeInstanceOf(ConstraintError);
    expect(toApiError(failure)?.body.error).toBe(PlantingErrors.NO_SUCH_VARIETY.error);
  },
);

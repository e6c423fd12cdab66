import { beforeEach, describe, expect, it } from '@jest/globals';
import { hash } from 'node:crypto';
import { type Answer, expectError, TOKEN } from 'durable-rest/testing';
import { NurseryApp } from '../../test/nursery-app.js';
import { PlantingErrors } from '../plantings/plantings.errors.js';
import { SaleErrors } from './sales.errors.js';

const GARDEN = '00000000-0000-4000-8000-000000000001';
const SALE = { gardenId: GARDEN, quantity: 2, price: 24.9, isPaid: true };
const SHOP_TOKEN = 'the-token-of-the-shop';
const SHOP = { Authorization: `Bearer ${SHOP_TOKEN}` };

const app = NurseryApp.forAll({
  ACCESS_TOKENS: `${TOKEN},shop:sha256:${hash('sha256', SHOP_TOKEN)}`,
  SALES_MAX_QUANTITY: '5',
});
let varietyId: number;

beforeEach(async () => {
  await app.query('DELETE FROM sales');
  varietyId = await app.createVariety('Monstera');
  const planting = { gardenId: GARDEN, varietyId, plantedOn: '2026-11-22', quantity: 4 };
  await app.post('/plantings', JSON.stringify(planting));
});

function sell(changes: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
  const soldAt = '2026-11-22T12:00:00+02:00';
  return app.post('/sales', JSON.stringify({ ...SALE, varietyId, soldAt, ...changes }), headers);
}

async function countPlants(): Promise<unknown> {
  const { body } = await app.get(`/plantings/${GARDEN}/${varietyId}`);
  return (body as { quantity: number }).quantity;
}

describe('/sales', () => {
  it('takes the plants, and keeps the sale exactly', async () => {
    const sold = await sell({ details: { till: 2, code: [1e3] } }, SHOP);
    const id = sold.headers.get('location')?.slice('/sales/'.length);
    const stored = `{"id":"${id}","varietyId":${varietyId},"quantity":2,"price":24.90,"isPaid":true,"soldAt":"2026-11-22T10:00:00.000Z","soldBy":"shop","details":{"till":2,"code":[1000]}}`;
    expect(sold.status).toBe(201);
    expect(JSON.parse(sold.text)).toEqual(JSON.parse(stored));
    expect(JSON.parse((await app.get(`/sales/${id}`)).text)).toEqual(JSON.parse(stored));
    expect((await app.get('/sales')).text).toBe(`[${stored}]`);
    expect(await countPlants()).toBe(2);
    expect((await app.get('/sales/export')).text).toBe(
      `id,varietyId,quantity,price,isPaid,soldAt\r\n${id},${varietyId},2,24.90,true,2026-11-22T10:00:00.000Z\r\n`,
    );
  });

  it('is refused as a whole', async () => {
    expectError(await sell({ quantity: 5 }), PlantingErrors.QUANTITY_OUT_OF_RANGE);
    expectError(await sell({ quantity: 6 }), SaleErrors.TOO_MANY);
    const nowhere = GARDEN.replace('1', '9');
    expectError(await sell({ gardenId: nowhere }), PlantingErrors.PLANTING_NOT_FOUND);
    expectError(await sell({ price: 0.001 }), 'INVALID_BODY');
    expect(await countPlants()).toBe(4);
    expect((await app.get('/sales')).body).toEqual([]);
  });

  it('are listed in the order of their times, within a range', async () => {
    const times = ['2026-11-23', '2026-11-21', '2026-11-22'];
    for (const day of times) await sell({ quantity: 1, soldAt: `${day}T10:00:00.000Z` });
    const list = async (query: string): Promise<string[]> => {
      const { body } = await app.get(`/sales?${query}`);
      return (body as { soldAt: string }[]).map(({ soldAt }) => soldAt.slice(0, 10));
    };
    expect(await list('')).toEqual(times.toSorted());
    expect(await list('from=2026-11-22T10:00:00Z')).toEqual(['2026-11-22', '2026-11-23']);
    expect(await list('before=2026-11-22T10:00:00Z')).toEqual(['2026-11-21']);
    const empty = 'from=2026-11-22T10:00:00Z&before=2026-11-22T10:00:00Z';
    expectError(await app.get(`/sales?${empty}`), 'INVALID_PARAMETERS');
  });

  it('are removed by the client that recorded them', async () => {
    const path = String((await sell({}, SHOP)).headers.get('location'));
    expectError(await app.delete(path), SaleErrors.NOT_YOUR_SALE);
    expect(await app.delete(path, SHOP)).toMatchObject({ status: 204 });
    expectError(await app.delete(path, SHOP), SaleErrors.SALE_NOT_FOUND);
  });

  it('are in the feed of changes, and keep their variety', async () => {
    const { next = '' } = await app.get('/changes?after=latest');
    await sell();
    const { body } = await app.get(next);
    expect(body).toMatchObject([{ type: 'sale.created', data: { varietyId } }]);
    expectError(await app.delete(`/varieties/${varietyId}`), 'CONFLICT');
  });
});

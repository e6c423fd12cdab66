import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { Plant } from '../src/modules/plants/plant.entity.js';
import { type Answer, TestApp } from './support/test-app.js';

interface Change {
  readonly cursor: string;
  readonly type: string;
  readonly id: number;
  readonly at: string;
  readonly data?: object;
}

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start({ CHANGE_FEED: 'on' });
});
afterEach(async () => {
  await app.close();
});

async function read(query = ''): Promise<Answer> {
  const answer = await app.get(`/changes${query}`);
  expect(answer).toMatchObject({ status: 200 });
  return answer;
}

/** All changes, without their cursors and times. */
async function listChanges(): Promise<unknown[]> {
  const { body } = await read('?limit=1000');
  return (body as Change[]).map(({ type, id, data }) => [type, id, data]);
}

const MONSTERA = '{"id":7,"name":"Monstera"}';

describe('the feed of changes', () => {
  it('has every change of a plant, in order, and none that changed nothing', async () => {
    await app.create('{"id":7,"name":"Monstera","tag":"in\\"door\\n"}');
    await app.put('/plants/7', '{"name":"Ficus"}');
    await app.put('/plants/7', '{"name":"Ficus"}');
    await app.delete('/plants/7');
    await app.create(MONSTERA);
    await app.create(MONSTERA);
    expect(await listChanges()).toEqual([
      ['plant.created', 7, { id: 7, name: 'Monstera', tag: 'in"door\n' }],
      ['plant.replaced', 7, { id: 7, name: 'Ficus' }],
      ['plant.removed', 7, undefined],
      ['plant.created', 7, { id: 7, name: 'Monstera' }],
    ]);
  });

  it('shows a plant as GET shows it, to the last digit', async () => {
    await app.create(
      '{"id":-9223372036854775808,"name":"\\u0001 \\ud83c\\udf31 \\u2028","tag":""}',
    );
    const { text } = await app.get('/plants/-9223372036854775808');
    const { text: page } = await read();
    expect(page).toContain('"id":-9223372036854775808,"at"');
    expect(JSON.parse(page)).toMatchObject([{ data: JSON.parse(text) as object }]);
  });

  it('has what other modules and other programs commit, and nothing that they roll back', async () => {
    const dataSource = app.nest.get(DataSource);
    const plants = dataSource.getRepository(Plant);
    await plants.save({ id: '1', name: 'saved', tag: null });
    await dataSource
      .transaction(async (manager) => {
        await manager.save(Plant, { id: '2', name: 'undone', tag: null });
        throw new Error('no');
      })
      .catch(() => undefined);
    await plants.update({ id: '1' }, { id: '3' });
    await dataSource.query(`DELETE FROM plants`);
    expect(await listChanges()).toEqual([
      ['plant.created', 1, { id: 1, name: 'saved' }],
      ['plant.removed', 1, undefined],
      ['plant.created', 3, { id: 3, name: 'saved' }],
      ['plant.removed', 3, undefined],
    ]);
  });
});

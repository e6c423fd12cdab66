import { describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { expectError } from 'durable-rest/testing';
import { TestApp } from '../../../test/support/test-app.js';
import { PlantErrors } from './plants.errors.js';
import { PlantsService } from './plants.service.js';

const app = TestApp.forAll();
let lastId = 0;

/** Creates a plant with an id of its own. Resolves with its path. */
async function createPlant(members: object = { name: 'n' }): Promise<string> {
  const id = ++lastId;
  const answer = await app.post('/plants', JSON.stringify({ id, ...members }));
  expect(answer).toMatchObject({ status: 200, body: members });
  return `/plants/${id}`;
}

describe('/plants', () => {
  it('has a plant as it was created, replaced and changed, until it is removed', async () => {
    const path = await createPlant({ name: 'Monstera', tag: 'indoor' });
    const id = lastId;
    expect((await app.get(path)).body).toEqual({ id, name: 'Monstera', tag: 'indoor' });
    expect((await app.put(path, '{"name":"Ficus"}')).body).toEqual({ name: 'Ficus' });
    expect((await app.get(path)).body).toEqual({ id, name: 'Ficus' });
    expect((await app.patch(path, '{"tag":"x"}')).body).toEqual({ name: 'Ficus', tag: 'x' });
    expect((await app.get(path)).body).toEqual({ id, name: 'Ficus', tag: 'x' });
    expect((await app.patch(path, '{"tag":null}')).body).toEqual({ name: 'Ficus' });
    expect(await app.delete(path)).toMatchObject({ status: 204, text: '' });
    for (const answer of [
      await app.get(path),
      await app.put(path, '{"name":"n"}'),
      await app.patch(path, '{}'),
      await app.delete(path),
    ]) {
      expectError(answer, PlantErrors.PLANT_NOT_FOUND);
    }
  });

  it('refuses an id in use, and says whether that very plant exists', async () => {
    await createPlant();
    const other = JSON.stringify({ id: lastId, name: 'other' });
    expectError(await app.post('/plants', other), PlantErrors.ID_IN_USE);
    const same = JSON.stringify({ id: lastId, name: 'n' });
    expectError(await app.post('/plants', same), PlantErrors.ALREADY_EXISTS);
  });

  it('changes and removes a plant only where If-Match has its ETag', async () => {
    const path = await createPlant();
    const condition = { 'If-Match': (await app.get(path)).headers.get('etag') ?? '' };
    expect(await app.put(path, '{"name":"m"}', condition)).toMatchObject({ status: 200 });
    for (const answer of [
      await app.put(path, '{"name":"l"}', condition),
      await app.patch(path, '{"name":"l"}', condition),
      await app.delete(path, condition),
    ]) {
      expectError(answer, 'PRECONDITION_FAILED');
    }
    expect((await app.get(path)).body).toEqual({ id: lastId, name: 'm' });
  });

  it('keeps a plant for a transaction that asks whether it exists', async () => {
    const path = await createPlant();
    const id = BigInt(lastId);
    const plants = app.nest.get(PlantsService);
    const removal = await app.nest.get(DataSource).transaction(async (manager) => {
      await plants.assertExists(id, manager);
      const removed = app.delete(path);
      // The removal would be done meanwhile.
      for (let count = 0; count < 20; count++) {
        expect(await app.get(path)).toMatchObject({ status: 200 });
      }
      return { removed };
    });
    expect(await removal.removed).toMatchObject({ status: 204 });
    const error = { error: PlantErrors.PLANT_NOT_FOUND.error };
    await expect(plants.assertExists(id)).rejects.toMatchObject({ body: error });
  });

  it('lists plants page by page: by id, by name, and those with a tag', async () => {
    const names = ['pear', 'Peach', 'plum'];
    for (const name of names) await createPlant({ name, tag: 'fruit' });
    const list = async (query: string): Promise<unknown[]> => {
      const pages = await app.getPages(`/plants?limit=2&${query}`);
      return pages.flatMap(({ body }) => (body as { name: string }[]).map(({ name }) => name));
    };
    expect(await list('tag=fruit')).toEqual(names);
    expect(await list('tag=fruit&sort=-id')).toEqual([...names].reverse());
    expect(await list('name=p')).toEqual(['Peach', 'pear', 'plum']);
    expect(await list('name=pe&sort=-name')).toEqual(['pear', 'Peach']);
  });

  it('imports lines, and exports them again', async () => {
    const [first, second] = [++lastId, ++lastId];
    const lines = [first, second].map((id) => `{"id":${id},"name":"n","tag":"lines"}\n`).join('');
    const type = { 'Content-Type': 'application/x-ndjson' };
    const { body } = await app.post('/plants/import', `${lines}{"id":${first},"name":"m"}`, type);
    const { error, message } = PlantErrors.ID_IN_USE;
    expect(body).toMatchObject({ created: 2, failures: [{ line: 3, error, message }] });
    const answer = await app.get('/plants?tag=lines', { Accept: 'application/x-ndjson' });
    expect(answer.text).toBe(lines);
  });
});

import { expect, it } from '@jest/globals';
import { expectError } from 'durable-rest/testing';
import { NurseryApp } from '../../test/nursery-app.js';

const app = NurseryApp.forAll();

it('a variety is created, listed by name, read and removed', async () => {
  const created = await app.post('/varieties', '{"name":"Monstera"}');
  const { id } = created.body as { id: number };
  expect(created).toMatchObject({ status: 201, body: { id, name: 'Monstera' } });
  await app.createVariety('Ficus');
  const { body } = await app.get('/varieties');
  expect(body).toMatchObject([{ name: 'Ficus' }, { name: 'Monstera' }]);
  expect(await app.get(`/varieties/${id}`)).toMatchObject({ status: 200, body: created.body });
  expect(await app.delete(`/varieties/${id}`)).toMatchObject({ status: 204 });
  const message = `There is no variety ${id}`;
  const absent = { error: 40499, message };
  expectError(await app.get(`/varieties/${id}`), absent, message);
  expectError(await app.delete(`/varieties/${id}`), absent, message);
});

it('a variety has a name of 1 to 100 characters', async () => {
  const fault = expect.stringContaining('name must be longer than or equal to 1 characters');
  expectError(await app.post('/varieties', '{"name":""}'), 'INVALID_BODY', fault);
});

import { describe, expect, it } from '@jest/globals';
import { PlantErrors } from '../../src/modules/plants/plants.errors.js';
import { REFUSED_BODIES, VALID_BODIES, VALID_STRINGS } from '../cases/bodies.js';
import { VALID_IDS } from '../cases/ids.js';
import { expectError } from '../support/expect-error.js';
import { TestApp } from '../support/test-app.js';

const app = TestApp.forAll();
let lastId = 1_000_000;

/** An id that no other test uses. */
function freshId(): string {
  return String(++lastId);
}

describe('POST /plants with a valid NewPlant', () => {
  it('answers 200 with name and tag, and stores the plant', async () => {
    const answer = await app.create('{"id":42,"name":"Monstera","tag":"indoor"}');
    expect(answer).toMatchObject({ status: 200, text: '{"name":"Monstera","tag":"indoor"}' });
    expect(await app.row('42')).toEqual({ id: '42', name: 'Monstera', tag: 'indoor' });
  });

  it('takes an id in any spelling', async () => {
    for (const [text, id] of VALID_IDS) {
      expect(await app.create(`{"id":${text},"name":"n"}`)).toMatchObject({ status: 200 });
      expect(await app.row(id)).toEqual({ id, name: 'n', tag: null });
      await app.delete(`/plants/${id}`);
    }
  });

  it('keeps strings exactly', async () => {
    for (const json of VALID_STRINGS) {
      const id = freshId();
      const text = JSON.parse(json) as string;
      const [name, tag] = text.length > 1_000 ? ['n', text] : [text, text];
      const body = `{"id":${id},"name":${JSON.stringify(name)},"tag":${json}}`;
      expect((await app.create(body)).body).toEqual({ name, tag });
      expect(await app.row(id)).toEqual({ id, name, tag });
    }
  });

  it.each(VALID_BODIES)('takes %s', async (body) => {
    const id = freshId();
    expect(await app.create(body.replace('ID', id))).toMatchObject({ text: '{"name":"n"}' });
    expect(await app.row(id)).toEqual({ id, name: 'n', tag: null });
  });
});

describe('POST /plants with an id in use', () => {
  it('answers 409 with 40900 to a different plant, and keeps the first', async () => {
    const id = freshId();
    await app.create(`{"id":${id},"name":"first","tag":"t"}`);
    for (const members of ['"name":"other","tag":"t"', '"name":"first"', '"name":"first","tag":""'])
      expectError(await app.create(`{"id":${id},${members}}`), PlantErrors.ID_IN_USE);
    expect(await app.row(id)).toEqual({ id, name: 'first', tag: 't' });
  });

  it('answers 409 with 40901 to the same plant', async () => {
    const id = freshId();
    const body = `{"id":${id},"name":"same","other":1}`;
    expect(await app.create(body)).toMatchObject({ status: 200 });
    expectError(await app.create(body.replace(id, `${id}.0`)), PlantErrors.ALREADY_EXISTS);
  });

  it('lets one of 64 simultaneous creates of different plants win', async () => {
    const id = freshId();
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) => app.create(`{"id":${id},"name":"plant ${index}"}`)),
    );
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toMatchObject([{ body: { name: (await app.row(id))?.name } }]);
    for (const answer of answers) {
      if (answer !== winners[0]) expectError(answer, PlantErrors.ID_IN_USE);
    }
  });
});

it.each(REFUSED_BODIES)('POST /plants answers %s to a body, and says why: %s', async (...row) => {
  const [name, message, body] = row;
  const stored = await app.rows();
  expectError(await app.create(body), name, expect.stringMatching(message));
  expect(await app.rows()).toEqual(stored);
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PlantErrors } from '../../src/modules/plants/plants.errors.js';
import { REFUSED_BODIES, VALID_BODIES, VALID_STRINGS } from '../cases/bodies.js';
import { VALID_IDS } from '../cases/ids.js';
import { expectError } from '../support/expect-error.js';
import { TestApp } from '../support/test-app.js';

let app: TestApp;
let lastId = 0;

beforeAll(async () => {
  app = await TestApp.start();
});

afterAll(() => app.close());

/** An id that no other test uses. */
function freshId(): string {
  return String(1_000_000 + ++lastId);
}

/** Shortens a text for a title, and removes control characters. */
function short(text: string): string {
  const shown =
    text.length > 60 ? `${text.slice(0, 40)}... (${String(text.length)} characters)` : text;
  return shown.replace(
    /\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function parseText(value: string): string {
  return JSON.parse(value) as string;
}

describe('POST /plants with a valid NewPlant', () => {
  it('answers 200 with name and tag, and stores the plant', async () => {
    const answer = await app.create('{"id":42,"name":"Monstera","tag":"indoor"}');
    expect(answer).toMatchObject({ status: 200, body: { name: 'Monstera', tag: 'indoor' } });
    expect(answer.body).toEqual({ name: 'Monstera', tag: 'indoor' });
    expect(await app.row('42')).toEqual({ id: '42', name: 'Monstera', tag: 'indoor' });
  });

  it.each(VALID_IDS.map(([text, id]) => ({ shown: short(text), text, id })))(
    'takes the id $shown as $id',
    async ({ text, id }) => {
      const name = `id ${id} of ${String(text.length)} characters ${text.slice(0, 30)}`;
      const answer = await app.create(`{"id":${text},"name":${JSON.stringify(name)}}`);
      // Some of these ids are the same integer: then an earlier plant has it.
      if (answer.status === 200) expect((await app.row(id))?.name).toBe(name);
      else expectError(answer, PlantErrors.ID_IN_USE);
      expect(await app.row(id)).toBeDefined();
    },
  );

  it.each(VALID_STRINGS.map((value) => ({ shown: short(value), value })))(
    'keeps the string $shown exactly',
    async ({ value }) => {
      const [asName, asTag] = [freshId(), freshId()];
      const named = await app.create(`{"id":${asName},"name":${value}}`);
      expect(named.body).toEqual({ name: parseText(value) });
      expect(await app.row(asName)).toEqual({ id: asName, name: parseText(value), tag: null });
      const tagged = await app.create(`{"id":${asTag},"name":"n","tag":${value}}`);
      expect(tagged.body).toEqual({ name: 'n', tag: parseText(value) });
      expect(await app.row(asTag)).toEqual({ id: asTag, name: 'n', tag: parseText(value) });
    },
  );

  it.each(VALID_BODIES.map((body) => ({ shown: short(body), body })))(
    'takes $shown',
    async ({ body }) => {
      const id = freshId();
      const answer = await app.create(body.replace(': ID', `: ${id}`).replace(':ID', `:${id}`));
      expect(answer.body).toEqual({ name: 'n' });
      expect(await app.row(id)).toEqual({ id, name: 'n', tag: null });
    },
  );
});

describe('POST /plants with an id in use', () => {
  it('answers 409 with 40900 to a different plant, and keeps the first', async () => {
    const id = freshId();
    await app.create(`{"id":${id},"name":"first","tag":"t"}`);
    expectError(await app.create(`{"id":${id},"name":"other","tag":"t"}`), PlantErrors.ID_IN_USE);
    expectError(await app.create(`{"id":${id},"name":"first"}`), PlantErrors.ID_IN_USE);
    expectError(await app.create(`{"id":${id},"name":"first","tag":""}`), PlantErrors.ID_IN_USE);
    expect(await app.row(id)).toEqual({ id, name: 'first', tag: 't' });
  });

  it.each(['"tag":"t"', '"other":1'])(
    'answers 409 with 40901 to the same plant with %s',
    async (rest) => {
      const id = freshId();
      const body = `{"id":${id},"name":"same",${rest}}`;
      expect(await app.create(body)).toMatchObject({ status: 200 });
      expectError(await app.create(body), PlantErrors.ALREADY_EXISTS);
      expectError(await app.create(body.replace(id, `${id}.0`)), PlantErrors.ALREADY_EXISTS);
    },
  );

  it('lets one of 64 simultaneous creates of different plants win', async () => {
    const id = freshId();
    const names = Array.from({ length: 64 }, (_, index) => `plant ${String(index)}`);
    const answers = await Promise.all(
      names.map((name) => app.create(`{"id":${id},"name":"${name}"}`)),
    );
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    for (const answer of answers) {
      if (answer !== winners[0]) expectError(answer, PlantErrors.ID_IN_USE);
    }
    expect(winners[0]?.body).toEqual({ name: (await app.row(id))?.name });
  });
});

describe('POST /plants with a body that is refused', () => {
  let stored: number;

  beforeAll(async () => {
    stored = (await app.rows()).length;
  });

  afterAll(async () => {
    expect(await app.rows()).toHaveLength(stored);
  });

  it.each(
    REFUSED_BODIES.map(([body, name, message]) => ({ shown: short(body), body, name, message })),
  )('answers $name to $shown', async ({ body, name, message }) => {
    expectError(await app.create(body), name, expect.stringMatching(message));
  });
});

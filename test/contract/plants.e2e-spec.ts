import { describe, expect, it } from '@jest/globals';
import type { ErrorCatalogue } from 'durable-rest';
import { type Answer, expectError } from 'durable-rest/testing';
import { PlantErrors } from '../../src/modules/plants/plants.errors.js';
import { ODD_TEXTS } from '../fuzz/texts.js';
import { TestApp } from '../support/test-app.js';

/** JSON numbers that are int64 integers, and the integer each one is. */
const VALID_IDS: readonly (readonly [text: string, id: string])[] = [
  ['-0', '0'],
  ['2.0', '2'],
  ['1E+4', '10000'],
  ['-600e-2', '-6'],
  ['0e99999999', '0'],
  ['8e00000000000000000000', '8'],
  ['9007199254740993', '9007199254740993'],
  ['9223372036854775807', '9223372036854775807'],
  ['922337203685477580.5e1', '9223372036854775805'],
  ['-9223372036854775808', '-9223372036854775808'],
  [`11${'0'.repeat(50_000)}e-50000`, '11'],
  [`0.${'0'.repeat(50_000)}13e50002`, '13'],
];

/** Bodies that are refused, with their code and the expected message. */
const REFUSED_BODIES: readonly (readonly [keyof typeof ErrorCatalogue, RegExp, string])[] = [
  ['UNREADABLE_BODY', /empty/, ''],
  ['UNREADABLE_BODY', /nothing may follow/, '{"id":1,"name":"n"}}'],
  ['UNREADABLE_BODY', /byte order mark/, '\uFEFF{"id":1,"name":"n"}'],
  ['UNREADABLE_BODY', /64 levels/, '['.repeat(100_000)],
  ['INVALID_BODY', /must be a JSON object/, '[]'],
  ['INVALID_BODY', /id is missing.*name is missing|name is missing.*id is missing/, '{}'],
  ['INVALID_BODY', /id is missing/, '{"__proto__":{"id":1,"name":"n"}}'],
  ['INVALID_BODY', /5807, not a string: write it wi/, '{"id":"-9223372036854775808","name":"n"}'],
  ['INVALID_BODY', /: id must be an integer .*5807$/, '{"id":"9223372036854775808","name":"n"}'],
  ['INVALID_BODY', /name must not contain U\+0000/, '{"id":1,"name":"\\u0000"}'],
  ['INVALID_BODY', /tag must not.*unpaired surrogate/, '{"id":1,"name":"n","tag":"\\ud83cx"}'],
  [
    'INVALID_BODY',
    /: id is given more than once; name must be a string; tag must be a string$/,
    '{"id":"1","i\\u0064":2,"name":null,"tag":7}',
  ],
];

const app = TestApp.forAll();
let lastId = 1_000_000;

/** An id that no other test uses. */
function freshId(): string {
  return String(++lastId);
}

it('POST /plants answers 200 with name and tag, and stores the plant', async () => {
  const answer = await app.create(String.raw`{"id":42,"name":"Monstera","tag":"\/\b🌿"}`);
  const plant = { name: 'Monstera', tag: '/\b🌿' };
  expect(answer).toMatchObject({ status: 200, text: JSON.stringify(plant) });
  expect(await app.row('42')).toEqual({ id: '42', ...plant });
});

it('POST /plants takes an id in any spelling', async () => {
  for (const [text, id] of VALID_IDS) {
    const { status } = await app.create(`{"id":${text},"name":"n"}`);
    expect([text, status]).toEqual([text, 200]);
    expect(await app.row(id)).toEqual({ id, name: 'n', tag: null });
    await app.delete(`/plants/${id}`);
  }
});

it('POST /plants keeps strings exactly', async () => {
  for (const text of [...ODD_TEXTS, 'x'.repeat(100_000)]) {
    const id = freshId();
    const plant = text.length > 1_000 ? { name: 'n', tag: text } : { name: text, tag: text };
    expect((await app.create(JSON.stringify({ id: Number(id), ...plant }))).body).toEqual(plant);
    expect(await app.row(id)).toEqual({ id, ...plant });
  }
});

it('of 64 simultaneous creates of different plants with one id, one wins', async () => {
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

it.each(REFUSED_BODIES)('POST /plants answers %s to a body, and says why: %s', async (...row) => {
  const [name, message, body] = row;
  const stored = await app.rows();
  expectError(await app.create(body), name, expect.stringMatching(message));
  expect(await app.rows()).toEqual(stored);
});

it('the ETag of a plant is the same on every engine and in every release, so that copies stay valid', async () => {
  const id = freshId();
  await app.create(`{"id":${id},"name":"a"}`);
  const { headers } = await app.get(`/plants/${id}`);
  expect(headers.get('etag')).toBe('"rrsEdMV2lbhUpw2K_KCk3s"');
});

it('an empty tag gives a plant another ETag than no tag', async () => {
  const id = freshId();
  await app.create(`{"id":${id},"name":"a","tag":""}`);
  const { headers } = await app.get(`/plants/${id}`);
  await app.put(`/plants/${id}`, '{"name":"a"}');
  const answer = await app.get(`/plants/${id}`, { 'If-None-Match': headers.get('etag') ?? '' });
  expect(answer.status).toBe(200);
});

it('PATCH /plants/{id} names its media types in Accept-Patch when it gets another', async () => {
  const type = 'application/json-patch+json';
  const answer = await app.patch('/plants/1', '{"name":"m"}', { 'Content-Type': type });
  expectError(answer, 'UNSUPPORTED_MEDIA_TYPE', expect.stringContaining(`"${type}"`));
  const accepted = 'application/merge-patch+json, application/json';
  expect(answer.headers.get('accept-patch')).toBe(accepted);
});

it.each([
  ['application/json; charset=UTF-8', 200],
  ['application/json;charset="Utf-8"', 200],
  ['Application/JSON; Charset=utf8', 200],
  ['application/json; charset=utf-16', 415],
  ['application/json; charset=ISO-8859-1', 415],
])('a create of the type %s is answered %i', async (type, status) => {
  const headers = { ...app.authorization, 'Content-Type': type };
  const answer = await app.post('/plants', `{"id":${freshId()},"name":"n"}`, headers);
  expect(answer.status).toBe(status);
});

describe('a condition', () => {
  it.each([
    ['GET', 'If-None-Match', '"x", ETAG', 304],
    ['GET', 'If-None-Match', 'W/ETAG', 304],
    ['GET', 'If-None-Match', 'W/"x"', 200],
    ['GET', 'If-None-Match', 'ETAG "x"', 200],
    ['GET', 'If-Match', 'W/ETAG', 412],
    ['PUT', 'If-None-Match', 'W/"x", W/ETAG', 412],
    ['PUT', 'If-None-Match', 'W/"x"', 200],
    ['PUT', 'If-None-Match', '"x" "y"', 412],
    ['PUT', 'If-None-Match', 'x', 412],
    ['PUT', 'If-Match', 'W/ETAG', 412],
    ['PUT', 'If-Match', 'ETAG "x"', 412],
  ])('of %s with %s: %s is answered %d', async (method, header, value, status) => {
    const id = freshId();
    const path = `/plants/${id}`;
    await app.create(`{"id":${id},"name":"n"}`);
    const etag = (await app.get(path)).headers.get('etag') ?? '';
    const headers = { [header]: value.replace('ETAG', etag) };
    const isRead = method === 'GET';
    const answer = await (isRead ? app.get(path, headers) : app.put(path, '{"name":"m"}', headers));
    expect(answer.status).toBe(status);
    if (status === 304) expect(answer.headers.get('etag')).toBe(etag);
    const isReplaced = !isRead && status === 200;
    expect(await app.row(id)).toMatchObject({ name: isReplaced ? 'm' : 'n' });
  });
});

describe('If-Match with an ETag', () => {
  const PROXY = 'A proxy that compresses answers';
  const CHANGED = 'does not have the current ETag';

  it.each([
    ['GET', 'that nginx has made weak', 'W/"TAG"', PROXY],
    ['PUT', 'that nginx has made weak', 'W/"TAG"', PROXY],
    ['PATCH', 'to which Apache has added -gzip', '"TAG-gzip"', PROXY],
    ['DELETE', 'to which Apache has added -br', '"TAG-br"', PROXY],
    ['PUT', 'to which a proxy has added -zstd', '"TAG-zstd"', PROXY],
    ['PUT', 'of an older version with -gzip', '"0123456789abcdefghijkl-gzip"', PROXY],
    ['PUT', 'among others that a proxy has changed', '"x", W/"TAG-gzip"', PROXY],
    ['PUT', 'of an older version', '"0123456789abcdefghijkl"', CHANGED],
    ['PUT', 'of an older version that ends in -br itself', '"0123456789abcdefghi-br"', CHANGED],
    ['PUT', 'of another kind', '"TAG-1"', CHANGED],
  ])('to %s, %s, is refused with the cause', async (method, _, ifMatch, message) => {
    const id = freshId();
    const path = `/plants/${id}`;
    await app.create(`{"id":${id},"name":"n"}`);
    const [, tag = ''] = /^"(.+)"$/.exec((await app.get(path)).headers.get('etag') ?? '') ?? [];
    const headers = {
      ...app.authorization,
      'Content-Type': 'application/json',
      'If-Match': ifMatch.replace('TAG', tag),
    };
    const body = method === 'GET' ? null : '{"name":"m"}';
    const answer = await app.request(method, path, { headers, body });
    expectError(answer, 'PRECONDITION_FAILED', expect.stringContaining(message));
    expect(await app.row(id)).toMatchObject({ name: 'n' });
  });
});

it.each(['PUT', 'PATCH', 'DELETE'])(
  'of many %s /plants/{id} with the same ETag, one succeeds',
  async (method) => {
    const id = freshId();
    await app.create(`{"id":${id},"name":"n"}`);
    const etag = (await app.get(`/plants/${id}`)).headers.get('etag') ?? '';
    const headers = { ...app.authorization, 'Content-Type': 'application/json', 'If-Match': etag };
    const change = (): Promise<Answer> =>
      app.request(method, `/plants/${id}`, { headers, body: '{"name":"m"}' });
    const answers = await Promise.all(Array.from({ length: 8 }, change));
    const statuses = answers.map(({ status }) => (status === 404 ? 412 : status));
    const success = method === 'DELETE' ? 204 : 200;
    expect(statuses.sort()).toEqual([success, ...Array<number>(7).fill(412)]);
  },
);

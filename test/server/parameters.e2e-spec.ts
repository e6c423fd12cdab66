import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ExampleModule } from '../support/example.module.js';
import { expectError } from '../support/expect-error.js';
import { exchange } from '../support/http/connection.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({}, ExampleModule);
});

afterAll(async () => {
  await app.close();
});

/** Spellings of int64 integers, which are what the answer must repeat. */
const INT64 = ['0', '9223372036854775807', '-9223372036854775808'];

/** Text that is no int64 in its one spelling, percent-encoded. */
const NOT_INT64 = [
  ...[
    '',
    '-0',
    '%2B1',
    '01',
    '1.0',
    '1e3',
    '1%20',
    '%D9%A1',
    '9223372036854775808',
    '9'.repeat(5_000),
  ],
];

describe('a query', () => {
  it.each<[query: string, answer: string]>([
    ['?', '{"limit":100}'],
    ['?limit=1000&', '{"limit":1000}'],
    ['?%6Cimit=5', '{"limit":5}'],
    ['?tag=', '{"limit":100,"tag":""}'],
    ['?tag=a+b%2Bc%20d', '{"limit":100,"tag":"a b+c d"}'],
    ['?tag=%F0%9F%8C%BF%26%3D?/=', '{"limit":100,"tag":"🌿&=?/="}'],
    ['?tag=__proto__', '{"limit":100,"tag":"__proto__"}'],
    ['?isOpen=true', '{"limit":100,"isOpen":true}'],
    ['?size=-1.50', '{"limit":100,"size":-1.5}'],
    ['?order=up', '{"limit":100,"order":"up"}'],
  ])('%s is read as %s', async (query, answer) => {
    expect(await app.get(`/examples${query}`)).toMatchObject({ status: 200, text: `[${answer}]` });
  });

  it.each(INT64)('holds the int64 %s exactly', async (id) => {
    const { text } = await app.get(`/examples?after=${id}`);
    expect(text).toBe(`[{"limit":100,"after":${id}}]`);
  });

  it.each(NOT_INT64)('is refused with the int64 %j', async (id) => {
    const message = expect.stringMatching(/^The query is not valid: after must be an integer from/);
    expectError(await app.get(`/examples?after=${id}`), 'INVALID_PARAMETERS', message);
  });

  it.each<[query: string, fault: string]>([
    ['?limit=0', 'limit must not be less than 1'],
    ['?limit=1001', 'limit must not be greater than 1000'],
    ['?limit=010', 'limit must be an integer number'],
    ['?size=Infinity', 'size must be a number'],
    ['?isOpen=1', 'isOpen must be a boolean value'],
    ['?order=left', 'order must be one of the following values: up, down'],
    ['?tag=%00', 'tag must not contain U+0000'],
    ['?tag=a&t%61g=b&tag=c', 'tag is given more than once'],
    ['?limt=1', '"limt" is not a parameter'],
    ['?tag[]=a', '"tag[]" is not a parameter'],
    ['?__proto__=1', '"__proto__" is not a parameter'],
    ['?%22=1', String.raw`"\"" is not a parameter`],
    ['?tag=%FF', 'it is not percent-encoded UTF-8'],
    ['?tag=%ED%A0%80', 'it is not percent-encoded UTF-8'],
    ['?%FF=1', 'it is not percent-encoded UTF-8'],
  ])('%s is refused: %s', async (query, fault) => {
    const answer = await app.get(`/examples${query}`);
    expectError(answer, 'INVALID_PARAMETERS', expect.stringContaining(fault));
    expect(answer.text).toMatch(/^{"error":40003,"message":"The query is not valid: /);
  });

  it('gets all of its faults named, each once', async () => {
    const answer = await app.get('/examples?limit=0&x=1&tag=%00&x=2&after=1.0&order=up&order=up');
    const fault = 'tag must not contain U+0000 or an unpaired surrogate';
    expectError(
      answer,
      'INVALID_PARAMETERS',
      `The query is not valid: "x" is not a parameter; ${fault}; limit must not be less than 1; after must be an integer from -9223372036854775808 to 9223372036854775807; order is given more than once`,
    );
  });

  it('gets a message of bounded length', async () => {
    const names = Array.from({ length: 2_500 }, (_, index) => index.toString(36));
    const { status, text } = await app.get(`/examples?${names.join('&')}`);
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(/; and more"}$/);
  });

  it('is ignored by an operation that declares none', async () => {
    const body = '{"id":1,"name":"n"}';
    expect(await app.post('/plants?id=%FF&id=2', body)).toMatchObject({ status: 200 });
    expect(await app.get('/examples/1?limit=x')).toMatchObject({ status: 200 });
  });
});

describe('a path', () => {
  it.each(INT64)('holds the int64 %s exactly', async (id) => {
    expect(await app.get(`/examples/${id}`)).toMatchObject({ status: 200, text: `{"id":${id}}` });
  });

  it.each(NOT_INT64.filter((id) => id !== ''))('is refused with the int64 %j', async (id) => {
    const message = expect.stringMatching(/^The path is not valid: id must be an integer from/);
    expectError(await app.get(`/examples/${id}`), 'INVALID_PARAMETERS', message);
  });

  it('that cannot be decoded is malformed', async () => {
    for (const path of ['/examples/%FF', '/examples/%zz', '/examples/%C3']) {
      expectError(await app.get(path), 'MALFORMED_REQUEST', 'The path cannot be decoded');
    }
  });

  it('has a plus for a plus', async () => {
    expectError(await app.get('/examples/+'), 'INVALID_PARAMETERS');
    expectError(await app.get('/examples/failures/a+b'), 'INVALID_PARAMETERS');
  });
});

describe('a request with a path, a query and a body', () => {
  const put = (path: string, body: string, headers: Record<string, string> = {}) =>
    app.request('PUT', path, {
      headers: {
        Authorization: `Bearer ${TOKEN}`,
        'Content-Type': 'application/json',
        ...headers,
      },
      body,
    });

  it('gets the faults of its path and its query named together', async () => {
    expectError(
      await put('/examples/x?limit=0', '{"seed":{"id":1}}'),
      'INVALID_PARAMETERS',
      'The path is not valid: id must be an integer from -9223372036854775808 to 9223372036854775807. The query is not valid: limit must not be less than 1',
    );
  });

  it('is refused for its token, then its target, then its body', async () => {
    expectError(await put('/examples/x?y', '{', { Authorization: '' }), 'TOKEN_MISSING');
    expectError(await put('/examples/x', '{', { 'Content-Type': 'a/b' }), 'INVALID_PARAMETERS');
    expectError(await put('/examples/1?y', ''), 'INVALID_PARAMETERS');
    expectError(await put('/examples/1', ''), 'UNREADABLE_BODY');
    expectError(
      await put('/examples/1', '{}', { 'Content-Type': 'a/b' }),
      'UNSUPPORTED_MEDIA_TYPE',
    );
    expectError(await put('/examples/1', '{}'), 'INVALID_BODY');
  });

  it('gets 100 (Continue) once its token and its target are accepted', async () => {
    const head = (path: string): string =>
      `PUT ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 17\r\n\r\n`;
    const refused = await exchange(app.port, head('/examples/x'), (text) => text.endsWith('}'));
    expect(refused).toMatch(/^HTTP\/1.1 400 /);
    const told = await exchange(app.port, head('/examples/1'), (text) => text.length > 0);
    expect(told).toMatch(/^HTTP\/1.1 100 /);
  });
});

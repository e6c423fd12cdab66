import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Param } from '@nestjs/common';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';
import { ExampleModule } from '../support/example.module.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, TestApp } from '../support/test-app.js';

const MAX = '9223372036854775807';
const INT64 = 'must be an integer from -9223372036854775808 to 9223372036854775807';

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({ CHANGE_FEED: 'on' }, ExampleModule);
});

afterAll(() => app.close());

function put(path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> {
  return app.put(`/examples/${path}`, body, headers);
}

describe('a query', () => {
  it.each<[query: string, answer: string]>([
    ['?', '{"limit":100}'],
    ['?%6Cimit=1000&', '{"limit":1000}'],
    ['?tag=', '{"limit":100,"tag":""}'],
    ['?tag=a+b%2Bc%20d', '{"limit":100,"tag":"a b+c d"}'],
    ['?tag=%F0%9F%8C%BF%26%3D?/=', '{"limit":100,"tag":"🌿&=?/="}'],
    ['?isOpen=true&size=-1.50', '{"limit":100,"isOpen":true,"size":-1.5}'],
    ['?order=up&tag=__proto__', '{"limit":100,"order":"up","tag":"__proto__"}'],
    ['?after=0', '{"limit":100,"after":0}'],
    [`?after=${MAX}`, `{"limit":100,"after":${MAX}}`],
  ])('%s is read as %s', async (query, answer) => {
    const { status, body, text } = await app.get(`/examples${query}`);
    expect([status, body]).toEqual([200, JSON.parse(`[${answer}]`)]);
    if (query.includes('after')) expect(text).toBe(`[${answer}]`);
  });

  it.each([
    ...['', '-0', '%2B1', '01', '1.0', '1e3', '1%20', '%D9%A1'],
    ...['9223372036854775808', '9'.repeat(5_000)],
  ])('is refused with the int64 %.30j', async (id) => {
    const message = expect.stringContaining(`The query is not valid: after ${INT64}`);
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
    ['?tag[]=a', '"tag[]" is not a parameter'],
    ['?__proto__=1', '"__proto__" is not a parameter'],
    ['?%22=1', String.raw`"\"" is not a parameter`],
    ['?tag=%ED%A0%80', 'it is not percent-encoded UTF-8'],
    ['?%FF=1', 'it is not percent-encoded UTF-8'],
    [
      '?limit=0&x=1&tag=%00&x=2&after=1.0&order=up&order=up',
      `"x" is not a parameter; tag must not contain U+0000 or an unpaired surrogate; limit must not be less than 1; after ${INT64}; order is given more than once`,
    ],
  ])('%s is refused: %s', async (query, fault) => {
    const { text } = await app.get(`/examples${query}`);
    const message = `The query is not valid: ${fault}`;
    expect(JSON.parse(text)).toMatchObject({
      error: 40003,
      message: expect.stringContaining(message),
    });
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
  it('that cannot be decoded is malformed', async () => {
    for (const path of ['/examples/%FF', '/examples/%zz', '/examples/%C3']) {
      expectError(await app.get(path), 'MALFORMED_REQUEST', 'The path cannot be decoded');
    }
  });

  it('has a plus for a plus', async () => {
    expectError(await app.get('/examples/+'), 'INVALID_PARAMETERS');
  });
});

describe('a request with a path, a query and a body', () => {
  it('gets the faults of its path and its query named together', async () => {
    const message = `The path is not valid: id ${INT64}. The query is not valid: limit must not be less than 1`;
    const answer = await put('x?limit=0', '{"seed":{"id":1}}');
    expectError(answer, 'INVALID_PARAMETERS', message);
  });

  it('is refused for its token, then its target, then its body', async () => {
    const type = { 'Content-Type': 'a/b' };
    expectError(await put('x?y', '{', { Authorization: '' }), 'TOKEN_MISSING');
    expectError(await put('x', '{', type), 'INVALID_PARAMETERS');
    expectError(await put('1?y', ''), 'INVALID_PARAMETERS');
    expectError(await put('1', ''), 'UNREADABLE_BODY');
    expectError(await put('1', '{}', type), 'UNSUPPORTED_MEDIA_TYPE');
    expectError(await put('1', '{}'), 'INVALID_BODY');
  });
});

describe('a body with nested classes', () => {
  it.each([
    [
      `{"seeds":[{"id":${MAX}},{"id":0}],"seed":{"id":1}}`,
      `{"seeds":[{"id":${MAX}},{"id":0}],"seed":{"id":1}}`,
    ],
    [`{"seed":{"id":1},"ids":[${MAX},-1]}`, `{"seeds":[],"seed":{"id":1},"ids":[${MAX},-1]}`],
    [
      `{"seed":{"id":1},"anything":{"id":${MAX},"a":[1.5,null]}}`,
      `{"seeds":[],"seed":{"id":1},"anything":{"id":${MAX},"a":[1.5,null]}}`,
    ],
    [
      '{"seed":{"id":1,"__proto__":{"count":1},"constructor":{"prototype":{}}}}',
      '{"seeds":[],"seed":{"id":1}}',
    ],
  ])('%s is read as %s', async (body, read) => {
    const { status, text } = await put('1', body);
    expect([status, text]).toEqual([200, `{"id":1,"query":{"limit":100},"body":${read}}`]);
  });

  it.each([
    ['{}', 'seed is missing'],
    [
      '{"seed":{"id":1},"ids":[1,"2"]}',
      `each value in ids ${INT64}, not a string: write it without quotes`,
    ],
    ['{"seed":{"id":1,"parent":{"parent":{"id":1}}}}', 'seed.parent.id is missing'],
    ['{"seed":{"id":1},"seeds":[{},{"id":0.5}]}', `seeds.0.id is missing; seeds.1.id ${INT64}`],
    [
      '{"seed":{"id":1},"seeds":[1,{"id":1,"\\u0069d":1}]}',
      'seeds.0 must be an object; seeds.1.id is given more than once',
    ],
  ])('%s is refused: %s', async (body, faults) => {
    expectError(await put('1', body), 'INVALID_BODY', `The body is not valid: ${faults}`);
  });
});

it('an answer of no class has exact integers', async () => {
  const { text, headers } = await app.get('/examples/plain');
  expect(text).toBe('{"list":[{"id":9007199254740993}],"date":"1970-01-01T00:00:00.000Z"}');
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
});

it("Nest's own pipes convert single parameters, and refuse them with 40003", async () => {
  expect((await app.get('/examples/numbers/-7?factor=3')).body).toEqual({ product: -21 });
  expect((await app.get('/examples/numbers/7?other=1')).body).toEqual({ product: 7 });
  const message = 'Validation failed (numeric string is expected)';
  for (const path of ['x', '1?factor=x']) {
    expectError(await app.get(`/examples/numbers/${path}`), 'INVALID_PARAMETERS', message);
  }
});

const { INTERNAL, BODY_TOO_LARGE, NOT_FOUND } = ErrorCatalogue;

// A Retry-After of the handler wins, and a 503 always has one.
it.each<[name: string, error: number, message: string, retryAfter: string | null]>([
  ['missing-anyhow', 40400, 'Not Found', null],
  ['bad', 40000, 'a is bad; b is bad', '17'],
  // 40900 belongs to the plants.
  ['taken', 40999, 'the name is taken', '17'],
  ['of-express', 41300, BODY_TOO_LARGE.message, '17'],
  ['shy', 40400, NOT_FOUND.message, '17'],
  ['unauthorized', 40100, 'the session is over', '17'],
  ['later-anyhow', 50300, 'Service Unavailable', '1'],
  ['redirect', INTERNAL.error, INTERNAL.message, '17'],
  ['bug', INTERNAL.error, INTERNAL.message, '17'],
])(
  "an exception of Nest's own, %s, is answered %i: %s",
  async (name, error, message, retryAfter) => {
    const answer = await app.get(`/examples/failures/${name}`);
    expectError(answer, { error, message }, message);
    expect(answer.headers.get('retry-after')).toBe(retryAfter);
    if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  },
);

it('a program with a parameter that would not be checked does not start, and says what to write', async () => {
  @Controller('gardens')
  class GardensController {
    @Get(':id')
    read(@Param('id') id: string): string {
      return id;
    }
  }
  @Module({ controllers: [GardensController] })
  class GardensModule {}

  await expect(TestApp.start({}, GardensModule)).rejects.toThrow(
    'GardensController.read, @Param(): write @Param() path: AClass, a class whose members',
  );
});

describe('the OpenAPI document of a feature', () => {
  interface Document {
    readonly paths: Readonly<
      Record<string, { get: { parameters: object[]; security: object[]; responses: object } }>
    >;
    readonly components: {
      readonly schemas: Readonly<Record<string, { required?: string[]; properties: object }>>;
    };
    readonly tags: readonly { readonly name: string; readonly description: string }[];
  }
  let document: Document;

  beforeAll(async () => {
    document = (await app.request('GET', '/openapi.json')).body as Document;
  });

  it('has its parameters, with their rules and initial values', () => {
    const parameters = [
      {
        name: 'limit',
        description: 'How many at most',
        schema: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
      },
      {
        name: 'after',
        description: 'The last id of the page before',
        schema: { type: 'integer', format: 'int64' },
      },
      { name: 'tag', schema: { type: 'string', pattern: '^[^\\x00]*$' } },
      { name: 'isOpen', schema: { type: 'boolean' } },
      { name: 'size', schema: { type: 'number' } },
      { name: 'order', schema: { type: 'string', enum: ['up', 'down'] } },
    ];
    expect(document.paths['/examples']?.get.parameters).toEqual(
      parameters.map((parameter) => ({ ...parameter, in: 'query', required: false })),
    );
  });

  it('has a public operation, which needs no token', async () => {
    const { security, responses } = document.paths['/examples/harvest']?.get ?? {};
    expect(security).toEqual([]);
    expect(responses).not.toMatchObject({ 401: expect.anything() });
    expect(await app.request('GET', '/examples/harvest')).toMatchObject({ status: 200 });
  });

  it('has its classes, also one that is only an answer, with their rules', () => {
    const { Example, Harvest } = document.components.schemas;
    const seed = { $ref: '#/components/schemas/Seed' };
    expect(Example?.required).toEqual(['seed']);
    expect(Example?.properties).toMatchObject({
      seed,
      seeds: { type: 'array', items: seed, maxItems: 40_000 },
      ids: { type: 'array', items: { type: 'integer', format: 'int64' } },
    });
    expect(Harvest).toEqual({
      type: 'object',
      required: ['what', 'quality', 'at', 'seeds'],
      properties: {
        quality: { type: 'string', enum: ['good', 'bad'] },
        at: { type: 'string', format: 'date-time', pattern: expect.any(String) },
        what: { type: 'string', maxLength: 9, pattern: '^[^\\x00]*$', example: 'apples' },
        seeds: { type: 'array', items: seed },
      },
    });
  });

  it('has its tag beside those of the program, sorted', () => {
    const names = document.tags.map(({ name }) => name);
    expect(names).toEqual(names.toSorted());
    const description = 'Examples of all that a feature may do';
    expect(document.tags).toContainEqual({ name: 'examples', description });
  });

  it("passes Redocly's recommended rules", async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const source = JSON.stringify(document);
    expect(await lintFromString({ source, absoluteRef: 'openapi.json', config })).toEqual([]);
  });
});

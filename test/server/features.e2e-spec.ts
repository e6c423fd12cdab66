import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Param, type Type } from '@nestjs/common';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { ErrorCatalogue, type ErrorKind } from '../../src/platform/errors/error-catalogue.js';
import { ExampleModule } from '../support/example.module.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({}, ExampleModule);
});

afterAll(async () => {
  await app.close();
});

async function put(body: string): Promise<Answer> {
  return await app.request('PUT', '/examples/1', {
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body,
  });
}

const MAX = '9223372036854775807';

describe('a body with nested classes', () => {
  it.each([
    [`{"seed":{"id":${MAX}}}`, `{"seeds":[],"seed":{"id":${MAX}}}`],
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
    const { status, text } = await put(body);
    expect([status, text]).toEqual([200, `{"id":1,"query":{"limit":100},"body":${read}}`]);
  });

  const integer = 'must be an integer from -9223372036854775808 to 9223372036854775807';

  it.each([
    ['{}', 'seed is missing'],
    ['{"seed":{}}', 'seed.id is missing'],
    ['{"seed":{"id":"1"}}', `seed.id ${integer}, not a string: write it without quotes`],
    [
      '{"seed":{"id":1},"ids":[1,"2"]}',
      `each value in ids ${integer}, not a string: write it without quotes`,
    ],
    ['{"seed":{"id":1,"count":[]}}', 'seed.count must be an integer number'],
    ['{"seed":{"id":1,"id":1}}', 'seed.id is given more than once'],
    ['{"seed":{"id":1,"parent":{"parent":{"id":1}}}}', 'seed.parent.id is missing'],
    ['{"seed":{"id":1},"seeds":[1,null]}', 'seeds.0 must be an object; seeds.1 must be an object'],
    [
      '{"seed":{"id":1},"seeds":[{"id":1},{"id":1,"\\u0069d":1}]}',
      'seeds.1.id is given more than once',
    ],
    ['{"seed":{"id":1},"seeds":[{},{"id":0.5}]}', `seeds.0.id is missing; seeds.1.id ${integer}`],
  ])('%s is refused: %s', async (body, faults) => {
    expectError(await put(body), 'INVALID_BODY', `The body is not valid: ${faults}`);
  });

  it('gets a message of bounded length', async () => {
    const answer = await put(`{"seed":{"id":1},"seeds":[${'{},'.repeat(33_000)}{}]}`);
    expectError(answer, 'INVALID_BODY', expect.stringMatching(/; seeds\.99\.id is .*; and more$/));
    expect(answer.text.length).toBeLessThan(10_000);
  });
});

describe('an answer', () => {
  it('has exact integers, in objects of a class, in arrays and nested', async () => {
    const answer = await app.get('/examples/plain');
    expect(answer.text).toBe(
      '{"list":[{"id":9007199254740993}],"date":"1970-01-01T00:00:00.000Z"}',
    );
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });
});

describe("Nest's own pipes", () => {
  it('convert single parameters', async () => {
    expect(await app.get('/examples/numbers/-7?factor=3')).toMatchObject({
      status: 200,
      body: { product: -21 },
    });
    expect(await app.get('/examples/numbers/7?other=1')).toMatchObject({ body: { product: 7 } });
  });

  it('refuse a parameter in words of their own, with 40003', async () => {
    const message = 'Validation failed (numeric string is expected)';
    for (const path of ['x', '1.5', '1?factor=x']) {
      expectError(await app.get(`/examples/numbers/${path}`), 'INVALID_PARAMETERS', message);
    }
  });
});

describe("Nest's own exceptions", () => {
  const { INTERNAL } = ErrorCatalogue;
  it.each<[name: string, error: number, message: string]>([
    ['missing-anyhow', 40400, 'Not Found'],
    ['bad', 40000, 'a is bad; b is bad'],
    // 40900 belongs to the plants.
    ['taken', 40999, 'the name is taken'],
    ['of-express', 41300, ErrorCatalogue.BODY_TOO_LARGE.message],
    ['shy', 40400, ErrorCatalogue.NOT_FOUND.message],
    ['unauthorized', 40100, 'the session is over'],
    ['later-anyhow', 50300, 'Service Unavailable'],
    ['redirect', INTERNAL.error, INTERNAL.message],
    ['bug', INTERNAL.error, INTERNAL.message],
  ])('%s is answered %i: %s', async (name, error, message) => {
    const kind: ErrorKind = { error, message };
    const answer = await app.get(`/examples/failures/${name}`);
    expectError(answer, kind, message);
    // A value from the handler wins, and a 503 always has the header.
    const retryAfter = new Map([
      ['missing-anyhow', null],
      ['later-anyhow', '1'],
    ]);
    expect(answer.headers.get('retry-after')).toBe(
      retryAfter.has(name) ? retryAfter.get(name) : '17',
    );
    if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });
});

describe('a program with a feature whose parameters would not be checked', () => {
  it('does not start, and tells what to write', async () => {
    @Controller('gardens')
    class GardensController {
      @Get(':id')
      read(@Param('id') id: string): string {
        return id;
      }
    }
    @Module({ controllers: [GardensController] })
    class GardensModule {}

    await expect(start(GardensModule)).rejects.toThrow(
      'GardensController.read, @Param(): write @Param() path: AClass, a class whose members',
    );
  });

  async function start(feature: Type): Promise<void> {
    const started = await TestApp.start({}, feature);
    await started.close();
  }
});

describe('the OpenAPI document of a feature', () => {
  interface Parameter {
    readonly name: string;
  }
  interface Operation {
    readonly parameters: readonly Parameter[];
    readonly security: readonly object[];
    readonly responses: Readonly<Record<string, object>>;
  }
  interface Document {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: {
      readonly schemas: Readonly<
        Record<string, { readonly required?: string[]; properties: object }>
      >;
      readonly responses: Readonly<Record<string, { readonly description: string }>>;
    };
    readonly tags: readonly { readonly name: string; readonly description: string }[];
  }

  async function readDocument(one: TestApp): Promise<Document> {
    return (await one.request('GET', '/openapi.json')).body as Document;
  }

  it('has its parameters, with their rules and initial values', async () => {
    const document = await readDocument(app);
    const { parameters } = document.paths['/examples']?.get ?? { parameters: [] };
    const text = '^[^\\x00]*$';
    expect(parameters).toEqual([
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'How many at most',
        schema: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
      },
      {
        name: 'after',
        in: 'query',
        required: false,
        description: 'The last id of the page before',
        schema: { type: 'integer', format: 'int64' },
      },
      { name: 'tag', in: 'query', required: false, schema: { type: 'string', pattern: text } },
      { name: 'isOpen', in: 'query', required: false, schema: { type: 'boolean' } },
      { name: 'size', in: 'query', required: false, schema: { type: 'number' } },
      {
        name: 'order',
        in: 'query',
        required: false,
        schema: { type: 'string', enum: ['up', 'down'] },
      },
    ]);
  });

  it('has its nested classes, with their rules', async () => {
    const { Example, Seed } = (await readDocument(app)).components.schemas;
    expect(Example?.required).toEqual(['seed']);
    expect(Example?.properties).toMatchObject({
      seed: { $ref: '#/components/schemas/Seed' },
      seeds: { type: 'array', items: { $ref: '#/components/schemas/Seed' }, maxItems: 40_000 },
      ids: { type: 'array', items: { type: 'integer', format: 'int64' } },
    });
    expect(Seed).toMatchObject({
      required: ['id'],
      properties: {
        id: { type: 'integer', format: 'int64' },
        parent: { $ref: '#/components/schemas/Seed' },
      },
    });
  });

  it('has the rules of a class that is only an answer', async () => {
    const { Harvest } = (await readDocument(app)).components.schemas;
    expect(Harvest).toEqual({
      type: 'object',
      required: ['what', 'quality', 'at', 'seeds'],
      properties: {
        quality: { type: 'string', enum: ['good', 'bad'] },
        at: { type: 'string', format: 'date-time', pattern: expect.any(String) },
        what: { type: 'string', maxLength: 9, pattern: '^[^\\x00]*$', example: 'apples' },
        seeds: { type: 'array', items: { $ref: '#/components/schemas/Seed' } },
      },
    });
  });

  it('has its tag beside those of the program, sorted', async () => {
    const { tags } = await readDocument(app);
    const names = tags.map(({ name }) => name);
    expect(names).toEqual(names.toSorted());
    expect(tags).toEqual(
      expect.arrayContaining([
        { name: 'examples', description: 'Examples of all that a feature may do' },
        { name: 'plants', description: 'The plants in the store' },
      ]),
    );
  });

  it("passes Redocly's recommended rules", async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const source = JSON.stringify(await readDocument(app));
    expect(await lintFromString({ source, absoluteRef: 'openapi.json', config })).toEqual([]);
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { ErrorCatalogue } from 'durable-rest';
import { type Answer, until } from 'durable-rest/testing';
import { PlantErrors } from '../../src/modules/plants/plants.errors.js';
import { countHeld } from '../support/limits.js';
import { ClientConnection } from '../support/http/connection.js';
import { lintDocument } from '../support/lint-document.js';
import { listServerSockets } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';

interface Response {
  /** Undefined for a reference. */
  readonly description?: string;
  readonly $ref?: string;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly example?: string | number;
}
interface Content {
  readonly example?: string;
  readonly schema?: { readonly $ref?: string };
}
interface Operation {
  readonly operationId: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, Content> };
  readonly security: readonly object[];
  readonly responses: Record<string, Response>;
}
interface Document {
  readonly openapi: string;
  readonly info: object;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, { required: string[]; properties: Record<string, object> }>;
    readonly responses: Record<string, Response>;
    readonly securitySchemes: object;
  };
}

/** The paths that this suite judges. A team may add others, with documents of any kind. */
const OWN = /^\/(plants(\/import|\/\{id\})?|changes|metrics)$/;

const app = TestApp.forAll({ CHANGE_FEED: 'on' });
let document: Document;

beforeAll(async () => {
  const { paths, ...others } = (await app.request('GET', '/openapi.json')).body as Document;
  const own = Object.entries(paths).filter(([path]) => OWN.test(path));
  document = { ...others, paths: Object.fromEntries(own) };
});

function listOperations(): Operation[] {
  return Object.values(document.paths).flatMap((path) => Object.values(path));
}

describe('openapi.json', () => {
  it('states the version and the licence of the contract', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toMatchObject({ version: '1.0.0', license: { identifier: 'MIT' } });
  });

  it('describes fields and answers in the words of the contract', () => {
    const { Plant, NewPlant, Error: ErrorSchema } = document.components.schemas;
    const name = { type: 'string', description: 'The name of the plant' };
    const tag = { type: 'string', description: 'Tag to specify the type' };
    const id = {
      type: 'integer',
      format: 'int64',
      description: 'Identification number of the plant',
    };
    expect(Plant).toMatchObject({ required: ['name'], properties: { name, tag } });
    expect(NewPlant?.required.toSorted()).toEqual(['id', 'name']);
    expect(NewPlant?.properties).toMatchObject({ id, name, tag });
    expect(ErrorSchema).toMatchObject({
      required: ['error', 'message'],
      properties: {
        error: { type: 'integer', format: 'int32', description: 'Numeric error value' },
        message: { type: 'string', description: 'Text message' },
      },
    });
    const { 200: created, 400: refused } = document.paths['/plants']?.post?.responses ?? {};
    expect(created).toMatchObject({ description: 'Plant response; the plant was created' });
    expect(refused).toMatchObject({
      description: expect.stringMatching(/^Error response, an unexpected error/),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    });
  });

  it("requires a bearer token for every operation that is not public, and keeps the contract's words for 400 to 400", () => {
    expect(document.components.securitySchemes).toEqual({
      bearer: { type: 'http', scheme: 'bearer', description: expect.any(String) },
    });
    expect(document.paths['/plants']?.post?.security).toEqual([{ bearer: [] }]);
    for (const { operationId, security, responses } of listOperations()) {
      expect([[], [{ bearer: expect.any(Array) }]]).toContainEqual(security);
      expect([operationId, '401' in responses]).toEqual([operationId, security.length === 1]);
      const described = Object.entries(responses)
        .filter(([, response]) => response.description?.includes('unexpected error'))
        .map(([status]) => status);
      expect([operationId, ...described]).toEqual([operationId, '400']);
    }
  });

  it('documents every error that an operation can answer', () => {
    const described = JSON.stringify([document.paths, document.components.responses]);
    // The path of an operation is known and takes its method.
    const { NOT_FOUND, METHOD_NOT_ALLOWED, CONFLICT, ...others } = ErrorCatalogue;
    for (const { error } of Object.values({ ...others, ...PlantErrors })) {
      expect(described).toContain(`- ${error}: `);
    }
    for (const { error } of [NOT_FOUND, METHOD_NOT_ALLOWED]) {
      expect(described).not.toContain(`${error}: `);
    }
    // A DELETE has this error if a module keeps plants from being removed.
    expect(JSON.stringify(document.paths['/plants'])).not.toContain(`${CONFLICT.error}: `);
  });

  it('lists the errors of an operation, and those of any operation once, as the default', () => {
    for (const { operationId, responses } of listOperations()) {
      const { default: other, ...own } = responses;
      const shared = Object.keys(own).filter((status) => /^(408|417|429|431|5..)$/.test(status));
      const reference = { $ref: '#/components/responses/AnyFailure' };
      expect({ operationId, other, shared }).toEqual({ operationId, other: reference, shared: [] });
    }
    const { AnyFailure } = document.components.responses;
    const codes = [...(AnyFailure?.description ?? '').matchAll(/^- (\d+):/gm)].map(
      ([, code]) => code,
    );
    expect(codes).toEqual(['40800', '41700', '42900', '43100', '50000', '50300']);
    expect(AnyFailure).toHaveProperty(['content', 'application/json', 'schema'], {
      $ref: '#/components/schemas/Error',
    });
  });

  it('has no fault that Redocly finds', async () => {
    const faults = await lintDocument(app);
    const ofOthers = (fault: string): boolean => {
      const [, kind = '', name = ''] = fault.split('/');
      return kind === 'components' || (kind === 'paths' && !OWN.test(name.replaceAll('~1', '/')));
    };
    expect(faults.filter((fault) => !ofOthers(fault))).toEqual([]);
  });

  it('describes every operation', () => {
    const undescribed = listOperations().filter(({ description = '' }) => description === '');
    expect(undescribed.map(({ operationId }) => operationId)).toEqual([]);
  });

  it('has an example of each parameter and body that works on a store with the demo', async () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        for (const [name, send] of listExamples(method, path, operation)) {
          await importDemo();
          const { status, text } = await send();
          const isDone = [200, 204].includes(status) && !/"failed":[1-9]/.test(text);
          expect([operation.operationId, name, text, isDone]).toEqual([
            ...[operation.operationId, name, text, true],
          ]);
        }
      }
    }
  });
});

async function importDemo(): Promise<void> {
  const lines = readFileSync(new URL('../../scripts/demo-plants.ndjson', import.meta.url));
  const { status } = await app.post('/plants/import', lines, {
    'Content-Type': 'application/x-ndjson',
  });
  expect(status).toBe(200);
}

/** Makes the requests of an operation: one with its required examples, and one for each optional one. */
function listExamples(
  method: string,
  path: string,
  { parameters = [], requestBody }: Operation,
): [name: string, send: () => Promise<Answer>][] {
  const required = parameters.filter((parameter) => parameter.required);
  const optional = parameters.filter((parameter) => !parameter.required);
  const [mediaType, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const body = content && readExample(content);
  const type = mediaType === undefined ? {} : { 'Content-Type': mediaType };
  return [[], ...optional.map((one) => [one])].map((chosen) => {
    const sent = [...required, ...chosen];
    const given = (place: string): [string, string][] =>
      sent.filter((one) => one.in === place).map(({ name, example }) => [name, String(example)]);
    const filled = given('path').reduce((to, [name, text]) => to.replace(`{${name}}`, text), path);
    const target = `${filled}?${new URLSearchParams(given('query'))}`;
    const headers = { ...app.authorization, ...type, ...Object.fromEntries(given('header')) };
    const send = (): Promise<Answer> =>
      app.request(method.toUpperCase(), target, { headers, body: body ?? null });
    return [chosen[0]?.name ?? 'the body', send];
  });
}

/** The example of a body, or that of its schema, which has one for each member. */
function readExample({ example, schema: { $ref = '' } = {} }: Content): string {
  if (example !== undefined) return example;
  const { properties = {} } = document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {};
  const members = Object.entries(properties) as [string, { example?: unknown }][];
  return JSON.stringify(
    Object.fromEntries(members.map(([name, member]) => [name, member.example])),
  );
}

it('Swagger UI at /docs is served with its scripts alone, and calls no other host', async () => {
  const page = await app.request('GET', '/docs');
  expect(page).toMatchObject({ status: 200, body: expect.stringContaining('Plant Store') });
  const assets = String(page.body).matchAll(/(?:src|href)=["'](\.\/[^"']+)["']/g);
  const paths = [...assets].map(([, path = '']) => new URL(path, app.url).pathname);
  expect(paths.length).toBeGreaterThan(3);
  for (const path of ['/docs', ...paths]) {
    const { status, headers } = await app.request('GET', path);
    const policy = headers.get('content-security-policy')?.split(';')[0];
    expect([path, status, policy]).toEqual([path, 200, "default-src 'self'"]);
  }
  for (const name of ['package.json', '%2e%2e/package.json']) {
    const { status } = await app.request('GET', `/docs/${name}`);
    expect([name, status]).toEqual([name, 404]);
  }
});

it('Swagger UI fills in the examples of no optional parameters', async () => {
  const { text } = await app.request('GET', '/docs/swagger-ui-init.js');
  expect(text).not.toContain('"fern"');
  expect(text).toMatch(/"example": 1001\b/);
});

it.each([
  ['development', true],
  ['production', false],
])("Swagger UI in %s signs in by a link's token: %p", async (NODE_ENV, signsIn) => {
  const started = await TestApp.start({ NODE_ENV });
  const { text } = await started.request('GET', '/docs/swagger-ui-init.js');
  await started.close();
  expect(text).toContain('updateJsonSpec');
  expect(text.includes('#token=')).toBe(signsIn);
});

describe("a file of Swagger UI's page", () => {
  const path = '/docs/swagger-ui-bundle.js';

  it('that is not read counts as memory of its client, and no file is open for it', async () => {
    const sockets = listServerSockets(app);
    const client = new ClientConnection(app.port);
    await until(() => sockets.length === 1);
    const [socket] = sockets;
    // Otherwise the buffers of the system may take the whole file, as Node ends the cork itself.
    socket?.cork();
    Object.assign(socket ?? {}, { uncork: () => undefined });
    await client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await until(() => countHeld(app) > 1_000_000);
    expect(listOpenFiles().filter((name) => name.includes('swagger'))).toEqual([]);
    client.socket.destroy();
    socket?.destroy();
    await until(() => countHeld(app) === 0);
  });

  it('is not sent again to a browser that has it', async () => {
    const { status, headers } = await app.request('GET', path);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    // Otherwise fetch() adds a directive that asks for the whole file.
    const cached = { 'Cache-Control': 'max-age=0' };
    const kept = { ...cached, 'If-None-Match': headers.get('etag') ?? '' };
    expect(await app.request('GET', path, { headers: kept })).toMatchObject({
      status: 304,
      text: '',
    });
    expect(await app.request('POST', path)).toMatchObject({ status: 405 });
  });

  it('is not served with SWAGGER_UI=off, but the document is', async () => {
    const bare = await TestApp.start({ SWAGGER_UI: 'off' });
    const statuses = await Promise.all(
      ['/', '/docs', path, '/openapi.json'].map(async (one) => {
        const { status } = await bare.request('GET', one);
        return [one, status];
      }),
    );
    await bare.close();
    expect(Object.fromEntries(statuses)).toEqual({
      '/': 404,
      '/docs': 404,
      [path]: 404,
      '/openapi.json': 200,
    });
  });
});

/** Lists the files that this process has open. */
function listOpenFiles(): string[] {
  const folder = '/proc/self/fd';
  return readdirSync(folder).flatMap((descriptor) => {
    try {
      return [readlinkSync(`${folder}/${descriptor}`)];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}

import fc from 'fast-check';
import type { Field, HttpRequest } from '../support/http/request.js';
import { AUTHORIZATION } from '../support/plant-requests.js';
import { type Api, Fault, type FuzzOptions } from './api.js';
import type { ApiDocument, Operation } from './api-document.js';
import { makeBody, makeValue } from './schema.arbitrary.js';
import { EXTRA_FIELDS } from './variations.js';

interface Call {
  readonly request: HttpRequest;
  /** Whether it needs a token, and has none or a wrong one. */
  readonly isRefused: boolean;
}

/**
 * Sends random requests to every operation of the document. It has no opinion about what an
 * operation does: each answer must be a documented one, and a request without a good token a 401.
 *
 * @param paths the operations that it leaves out have other paths
 */
export async function fuzzOperations(api: Api, options: FuzzOptions, paths = /^/): Promise<void> {
  const { document } = api;
  const operations = document.operations.filter(({ path }) => paths.test(path));
  const calls = fc.oneof(...operations.map((one) => makeCall(one, document)));
  const property = fc.asyncProperty(calls, async ({ request, isRefused }) => {
    const answer = await api.ask(request);
    if (isRefused && answer.status !== 401) {
      throw new Fault('a request without a good token is not refused', request, answer);
    }
  });
  await fc.assert(property, { ...options, includeErrorInReport: true });
}

const tokens = fc.oneof(
  { weight: 10, arbitrary: fc.constant(AUTHORIZATION) },
  fc.constantFrom<(Field | undefined)[]>(undefined, ['Authorization', 'Bearer other']),
);
const wrongValues = fc.constantFrom<unknown[]>('', '-1', 'a', '🌵', "'--");

function makeCall(operation: Operation, document: ApiDocument): fc.Arbitrary<Call> {
  const { method } = operation;
  const place = (where: string): fc.Arbitrary<Record<string, unknown>> => {
    const all = operation.parameters.filter((one) => one.in === where);
    const values = all.map(({ name, schema = {} }) => {
      const valid = makeValue(schema, document, name);
      return [name, fc.oneof({ weight: 6, arbitrary: valid }, wrongValues)] as const;
    });
    const required = all.filter((one) => where === 'path' || one.required === true);
    return fc.record(Object.fromEntries(values), {
      requiredKeys: required.map(({ name }) => name),
    });
  };
  const bodies = [...operation.bodies].map(([type, schema]) => {
    const valid = makeBody(schema, document);
    const other = type.endsWith('json') ? fc.jsonValue() : fc.uint8Array();
    const types = fc.oneof({ weight: 9, arbitrary: fc.constant(type) }, fc.constant('text/plain'));
    return fc.record({ type: types, value: fc.oneof({ weight: 4, arbitrary: valid }, other) });
  });
  const weighted = bodies.map((arbitrary) => ({ weight: 5, arbitrary }));
  return fc
    .record({
      method: method === 'GET' ? fc.constantFrom('GET', 'GET', 'HEAD') : fc.constant(method),
      token: tokens,
      inPath: place('path'),
      query: place('query'),
      field: fc.constantFrom(...EXTRA_FIELDS),
      body: fc.oneof(...weighted, fc.constant(undefined)),
    })
    .map(({ method, token, inPath, query, field, body }) => {
      const target = writeTarget(operation.path, inPath, query);
      const headers = token === undefined ? [field] : [field, token];
      const isRefused = token !== AUTHORIZATION && !operation.isPublic;
      const head = { method, target, headers };
      const request: HttpRequest =
        body === undefined
          ? { ...head, body: Buffer.alloc(0), framing: 'none' }
          : { ...head, headers: [...headers, ['Content-Type', body.type]], body: writeBody(body) };
      return { request, isRefused };
    });
}

function writeTarget(
  path: string,
  inPath: Readonly<Record<string, unknown>>,
  query: Readonly<Record<string, unknown>>,
): string {
  const text = (value: unknown): string => encodeURIComponent(String(value).toWellFormed());
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => text(inPath[name]) || '1');
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${text(value)}`);
  return parameters.length > 0 ? `${filled}?${parameters.join('&')}` : filled;
}

/** The value is bytes, a text, or one that is written as JSON. */
function writeBody({ type, value }: { readonly type: string; readonly value: unknown }): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  // A body that is no JSON has a schema of a text.
  if (typeof value === 'string' && !type.endsWith('json')) return Buffer.from(value);
  return Buffer.from(JSON.stringify(value));
}

import fc from 'fast-check';
import type { Field, HttpRequest } from '../support/http/request.js';
import { AUTHORIZATION } from '../support/plant-requests.js';
import { type Api, Fault, type FuzzOptions } from './api.js';
import type { ApiDocument, Operation } from './api-document.js';
import { makeValue } from './schema.arbitrary.js';
import { EXTRA_FIELDS } from './variations.js';

/** The parts of a request to an operation. */
interface Call {
  readonly operation: Operation;
  readonly method: string;
  readonly token: Field | undefined;
  readonly inPath: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly field: Field;
  readonly type: string | undefined;
  /** Bytes, a text, or a value that is written as JSON. */
  readonly body: unknown;
}

const tokens = fc.oneof(
  { weight: 10, arbitrary: fc.constant(AUTHORIZATION) },
  fc.constantFrom<(Field | undefined)[]>(undefined, ['Authorization', 'Bearer other']),
);

/**
 * Sends random requests to every operation of the document. It has no opinion about what an
 * operation does: each answer must be a documented one, and a request without a good token a 401.
 */
export async function fuzzOperations(api: Api, options: FuzzOptions): Promise<void> {
  const { seed, runs, endOnFailure = false } = options;
  const { document } = api;
  const calls = fc.oneof(...document.operations.map((one) => makeCall(one, document)));
  const property = fc.asyncProperty(calls, async (call) => {
    const request = writeRequest(call);
    const answer = await api.ask(request);
    const isRefused = call.token !== AUTHORIZATION && !call.operation.isPublic;
    if (isRefused && answer.status !== 401) {
      throw new Fault('a request without a good token is not refused', request, answer);
    }
  });
  await fc.assert(property, { seed, numRuns: runs, endOnFailure, includeErrorInReport: true });
}

function makeCall(operation: Operation, document: ApiDocument): fc.Arbitrary<Call> {
  const { method, parameters, bodies } = operation;
  const wrong = fc.constantFrom<unknown[]>('', '-1', 'a', '🌵', "'--");
  const place = (where: string): fc.Arbitrary<Record<string, unknown>> => {
    const all = parameters.filter((one) => one.in === where);
    const values = all.map(({ name, schema }) => {
      const valid = makeValue(schema, document, name);
      return [name, fc.oneof({ weight: 6, arbitrary: valid }, wrong)] as const;
    });
    const required = all.filter((one) => where === 'path' || one.required === true);
    return fc.record(Object.fromEntries(values), {
      requiredKeys: required.map(({ name }) => name),
    });
  };
  const contents = [...bodies].map(([type, schema]) => {
    const valid = makeValue(schema, document);
    const other = type.endsWith('json') ? fc.jsonValue() : fc.uint8Array();
    const types = fc.oneof({ weight: 9, arbitrary: fc.constant(type) }, fc.constant('text/plain'));
    return fc.record({ type: types, body: fc.oneof({ weight: 4, arbitrary: valid }, other) });
  });
  const none = fc.constant({ type: undefined, body: undefined });
  return fc
    .record({
      operation: fc.constant(operation),
      method: method === 'GET' ? fc.constantFrom('GET', 'GET', 'HEAD') : fc.constant(method),
      token: tokens,
      inPath: place('path'),
      query: place('query'),
      field: fc.constantFrom(...EXTRA_FIELDS),
      content: fc.oneof(...contents.map((arbitrary) => ({ weight: 5, arbitrary })), none),
    })
    .map(({ content, ...parts }) => ({ ...parts, ...content }));
}

function writeRequest(call: Call): HttpRequest {
  const { method, type, inPath, field, token } = call;
  const text = (value: unknown): string => encodeURIComponent(String(value).toWellFormed());
  const path = call.operation.path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => text(inPath[name]) || '1',
  );
  const query = Object.entries(call.query).map(([name, value]) => `${name}=${text(value)}`);
  const target = path + (query.length > 0 ? `?${query.join('&')}` : '');
  const headers = [field, ...(token === undefined ? [] : [token])];
  if (type === undefined) {
    return { method, target, headers, body: Buffer.alloc(0), framing: 'none' };
  }
  const body = writeBody(call.body, type);
  return { method, target, headers: [...headers, ['Content-Type', type]], body };
}

function writeBody(body: unknown, type: string): Buffer {
  if (body instanceof Uint8Array) return Buffer.from(body);
  // A body that is no JSON has a schema of a text.
  if (typeof body === 'string' && !type.endsWith('json')) return Buffer.from(body);
  return Buffer.from(JSON.stringify(body));
}

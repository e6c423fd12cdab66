import fc from 'fast-check';
import type { HttpAnswer } from '../support/http/answer.js';
import type { Field, HttpRequest } from '../support/http/request.js';
import { AUTHORIZATION } from '../support/plant-requests.js';
import { type Api, Fault, parseJson } from './api.js';
import type { ApiDocument, Operation } from './api-document.js';
import { Known, makeValue } from './schema.arbitrary.js';
import { EXTRA_FIELDS } from './variations.js';

/** The parts of a request to an operation; a {@link Known} in them is still to be replaced. */
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
export async function fuzzOperations(
  api: Api,
  { seed, runs, endOnFailure = false }: { seed: number; runs: number; endOnFailure?: boolean },
): Promise<void> {
  const { document } = api;
  const known: unknown[] = [];
  const calls = fc.oneof(...document.operations.map((one) => makeCall(one, document)));
  const sequences = fc.array(calls, { minLength: 10, maxLength: 10 });
  const property = fc.asyncProperty(sequences, async (all) => {
    for (const call of all) {
      const request = writeRequest(call, known);
      const answer = await api.ask(request);
      const isRefused = call.token !== AUTHORIZATION && !call.operation.isPublic;
      if (isRefused && answer.status !== 401) {
        throw new Fault('a request without a good token is not refused', request, answer);
      }
      if (answer.status < 300) known.unshift(...findKeys(answer));
      known.splice(20);
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

function writeRequest(call: Call, known: readonly unknown[]): HttpRequest {
  const { method, type, inPath, field, token } = call;
  const text = (value: unknown): string =>
    encodeURIComponent(String(settle(value, known)).toWellFormed());
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
  const body = writeBody(settle(call.body, known), type);
  return { method, target, headers: [...headers, ['Content-Type', type]], body };
}

function writeBody(body: unknown, type: string): Buffer {
  if (body instanceof Uint8Array) return Buffer.from(body);
  // A body that is no JSON has a schema of a text.
  if (typeof body === 'string' && !type.endsWith('json')) return Buffer.from(body);
  return Buffer.from(JSON.stringify(body));
}

/** Replaces the known values, also inside of others. */
function settle(value: unknown, known: readonly unknown[]): unknown {
  if (value instanceof Known) return known[value.index % known.length] ?? 1;
  if (value instanceof Uint8Array || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => settle(item, known));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, settle(one, known)]));
}

/** Finds the members that may name a resource in an answer, or in the items of one. */
function findKeys({ body }: HttpAnswer): unknown[] {
  return [parseJson(body)]
    .flat()
    .slice(0, 5)
    .flatMap((item) => (item instanceof Object ? Object.entries(item) : []))
    .filter(([name, value]) => /id$/i.test(name) && ['string', 'number'].includes(typeof value))
    .map(([, value]) => value as unknown);
}

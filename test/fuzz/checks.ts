import type { ApiDocument, DocumentedOperation } from './api-document.js';
import type { NewPlant, Verdict } from './body.js';
import { conformanceFaults, faultsFoundBy, isError, jsonOf, typeOf } from './conformance.js';
import type { Answer } from './http-answer.js';
import type { HttpRequest } from './http-request.js';
import { etagOf, type ListQuery, type Page, type StoredPlant } from './plants-model.js';

/** One request and its answer, with what the answer had to be. */
export interface HttpExchange {
  readonly request: HttpRequest;
  readonly answer: Answer;
  readonly wanted: Wanted;
  readonly verdict: Verdict | undefined;
}

/** As {@link Expected}, with what depends on the store decided. */
export type Wanted =
  /** 200, and the plant without its id. */
  | { readonly kind: 'plant'; readonly plant: NewPlant }
  | { readonly kind: 'stored' | 'unmodified'; readonly id: bigint; readonly etag: string }
  | { readonly kind: 'removed' }
  | { readonly kind: 'listed'; readonly query: ListQuery; readonly page: Page }
  | { readonly kind: 'error'; readonly error: number; readonly names?: readonly string[] }
  | { readonly kind: 'options'; readonly allow: string }
  | { readonly kind: 'page'; readonly status: number };

/** Says what is wrong with an answer, or nothing. */
type Check = (exchange: HttpExchange, document: ApiDocument) => string | false;

/** Every fault of an answer, by the name of the check that found it. */
export function faultsOf(exchange: HttpExchange, document: ApiDocument): string[] {
  const faults = faultsFoundBy(CHECKS, exchange, document);
  const operation = operationOf(exchange, document);
  return [...conformanceFaults({ ...exchange, operation }, document), ...faults];
}

const CHALLENGES = new Map([
  [40100, 'Bearer realm="plant-store"'],
  [40101, 'Bearer realm="plant-store", error="invalid_token"'],
]);

const CHECKS: Readonly<Record<string, Check>> = {
  /** The document alone, not the knowledge of how the body was made, decides what is negative. */
  negative_data_rejection: ({ request, answer, verdict }, document) =>
    schemaSays(request, verdict, document) === false &&
    ![400, 409, 413, 415].includes(answer.status) &&
    `a body against the schema was answered ${answer.status}`,

  positive_data_acceptance: ({ request, answer, verdict }, document) =>
    schemaSays(request, verdict, document) === true &&
    ![200, 404, 409, 412].includes(answer.status) &&
    `a body that the schema accepts was answered ${answer.status}`,

  /** What is good by the schema is good by the way it was made, or the two do not agree. */
  schema_and_text_agree: ({ request, verdict }, document) => {
    const isGood = schemaSays(request, verdict, document);
    if (isGood === undefined || isGood === (verdict?.kind === 'plant')) return false;
    return `the schema says ${isGood ? 'valid' : 'invalid'}, the text is ${verdict?.kind ?? ''}`;
  },

  ignored_auth: ({ wanted, answer }) =>
    wanted.kind === 'error' &&
    CHALLENGES.has(wanted.error) &&
    answer.status !== 401 &&
    `a request without a good token was answered ${answer.status}`,

  unsupported_method: ({ wanted, answer }) =>
    wanted.kind === 'error' &&
    wanted.error === 40500 &&
    (answer.status !== 405 || !answer.headers.has('allow')) &&
    `an undocumented method was answered ${answer.status}, Allow: ${answer.headers.get('allow') ?? ''}`,

  right_status: ({ wanted, answer }) => {
    const right = statusOf(wanted);
    // A page asked for with a condition may be as it was.
    if (answer.status === right || (wanted.kind === 'page' && answer.status === 304)) return false;
    return `the status is ${answer.status}, not ${right}`;
  },

  right_plant: ({ wanted, answer }) => {
    if (wanted.kind !== 'plant') return false;
    const { name, tag } = wanted.plant;
    const right = tag === undefined ? { name } : { name, tag };
    return !isSame(jsonOf(answer), right) && `the body is not exactly ${JSON.stringify(right)}`;
  },

  right_stored_plants: ({ request, wanted, answer }) => {
    if (request.method === 'HEAD') return false;
    if (wanted.kind === 'stored') {
      const plant = storedOf(withExactIds(answer));
      return !isStored(plant, wanted) && `the body is not what is stored with id ${wanted.id}`;
    }
    if (wanted.kind !== 'listed') return false;
    const { plants } = wanted.page;
    const body = withExactIds(answer);
    const isRight =
      Array.isArray(body) &&
      body.length === plants.length &&
      plants.every((plant, index) => isStored(storedOf(body[index]), plant));
    return !isRight && `the page is not exactly ${plants.map(({ id }) => id).join()}`;
  },

  right_etag: ({ wanted, answer }) => {
    const etag = answer.headers.get('etag');
    if (wanted.kind === 'page') return false;
    const right = 'etag' in wanted ? wanted.etag : undefined;
    return etag !== right && `the ETag is ${etag ?? 'missing'}, not ${right ?? 'missing'}`;
  },

  right_link: ({ wanted, answer }) => {
    const link = answer.headers.get('link');
    if (wanted.kind !== 'listed') return false;
    const { query, page } = wanted;
    if (page.next === undefined) return link !== undefined && `Link is ${link}`;
    const [, target = ''] = /^<([^<>]*)>; rel="next"$/.exec(link ?? '') ?? [];
    const { pathname, searchParams } = new URL(target, 'http://a');
    const { limit, tag } = query;
    const right = {
      limit: String(limit),
      after: String(page.next),
      ...(tag !== undefined && { tag }),
    };
    const isRight = pathname === '/plants' && isSame(Object.fromEntries(searchParams), right);
    return !isRight && `Link is ${link ?? 'missing'}`;
  },

  right_error: ({ request, wanted, answer }) => {
    if (wanted.kind !== 'error' || request.method === 'HEAD') return false;
    const body = jsonOf(answer);
    if (!isError(body)) return 'the body is not of the Error shape and nothing else';
    if (typeOf(answer) !== 'application/json') return `the Content-Type is ${typeOf(answer)}`;
    if (body.error !== wanted.error) return `the error is ${body.error}, not ${wanted.error}`;
    const unnamed = wanted.names?.find((name) => !new RegExp(`\\b${name}\\b`).test(body.message));
    return unnamed !== undefined && `the message does not name ${unnamed}: ${body.message}`;
  },

  right_headers: ({ wanted, answer: { headers } }) => {
    if (wanted.kind === 'options') {
      return headers.get('allow') !== wanted.allow && `Allow is ${headers.get('allow') ?? ''}`;
    }
    const right = wanted.kind === 'error' ? CHALLENGES.get(wanted.error) : undefined;
    const challenge = headers.get('www-authenticate');
    return challenge !== right && `WWW-Authenticate is ${challenge ?? 'missing'}`;
  },
};

/** The operation of which the document describes the answer. */
function operationOf(
  { request, wanted }: HttpExchange,
  document: ApiDocument,
): DocumentedOperation | undefined {
  const isElsewhere = wanted.kind === 'error' && (wanted.error === 40400 || wanted.error === 40000);
  return isElsewhere ? undefined : document.operation(request.method, request.target);
}

/**
 * Whether the body is valid by the served schema; undefined when a schema cannot tell: the body is
 * not what decides, is not JSON, gives a member twice, or has an id that JSON.parse rounds.
 */
function schemaSays(
  { method, target, body }: HttpRequest,
  verdict: Verdict | undefined,
  document: ApiDocument,
): boolean | undefined {
  if (verdict === undefined || verdict.kind === 'unreadable') return undefined;
  if (verdict.kind === 'invalid' && verdict.repeated) return undefined;
  const text = body.toString();
  const value = JSON.parse(text) as unknown;
  if (method === 'POST' && typeof value === 'object' && value !== null && 'id' in value) {
    if (typeof value.id === 'number' && !isCertain(value.id, text)) return undefined;
  }
  // The document says of these in words that they are refused.
  if (Object.values(value ?? {}).some(isUnpaired)) return undefined;
  return document.operation(method, target)?.takes?.(value);
}

function isUnpaired(member: unknown): boolean {
  return typeof member === 'string' && /\p{Cs}/u.test(member);
}

const PLAIN_INTEGER = /"id"\s*:\s*-?\d{1,19}\s*[,}]/;

/** Whether the id is an int64, or is none, beyond what rounding changes. */
function isCertain(id: number, text: string): boolean {
  if (!Number.isInteger(id) || Math.abs(id) > 2 ** 64) return true;
  return Math.abs(id) < 2 ** 63 - 2 ** 54 && PLAIN_INTEGER.test(text);
}

export function statusOf(wanted: Wanted): number {
  switch (wanted.kind) {
    case 'plant':
    case 'stored':
    case 'listed':
      return 200;
    case 'unmodified':
      return 304;
    case 'removed':
      return 204;
    case 'error':
      return Math.floor(wanted.error / 100);
    case 'options':
      return 204;
    case 'page':
      return wanted.status;
  }
}

/** The body of an answer with plants, each id of which is a bigint. */
function withExactIds({ body }: Answer): unknown {
  const text = body.toString().replaceAll(/(?<=[{,])"id":(-?\d+)(?=[,}])/g, '"id":"$1"');
  return jsonOf({ body: Buffer.from(text) });
}

function storedOf(value: unknown): StoredPlant | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { id, name, tag, ...others } = value as Record<string, string | undefined>;
  if (Object.keys(others).length > 0 || name === undefined || id === undefined) return undefined;
  return { id: BigInt(id), etag: etagOf(name, tag) };
}

function isStored(plant: StoredPlant | undefined, right: StoredPlant): boolean {
  return plant?.id === right.id && plant.etag === right.etag;
}

function isSame(body: unknown, right: Readonly<Record<string, string>>): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const members = Object.entries(body) as [string, unknown][];
  return (
    members.length === Object.keys(right).length &&
    members.every(([name, value]) => Object.hasOwn(right, name) && right[name] === value)
  );
}

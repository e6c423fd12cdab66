import type { ApiDocument } from './api-document.js';
import type { NewPlant, Verdict } from './body.js';
import { GOOD_TOKENS } from './headers.js';
import type { Answer } from './http-answer.js';
import type { HttpRequest } from './http-request.js';

/** One request and its answer, with what the answer had to be. */
export interface HttpExchange {
  readonly request: HttpRequest;
  readonly answer: Answer;
  readonly wanted: Wanted;
  readonly verdict: Verdict | undefined;
}

/** As {@link Expected}, with the outcome of a create decided. */
export type Wanted =
  | { readonly kind: 'created'; readonly plant: NewPlant }
  | { readonly kind: 'error'; readonly error: number; readonly names?: readonly string[] }
  | { readonly kind: 'options'; readonly allow: string }
  | { readonly kind: 'page'; readonly status: number };

/** Says what is wrong with an answer, or nothing. */
type Check = (exchange: HttpExchange, document: ApiDocument) => string | false;

/** Every fault of an answer, by the name of the check that found it. */
export function faultsOf(exchange: HttpExchange, document: ApiDocument): string[] {
  return Object.entries(CHECKS).flatMap(([name, check]) => {
    const fault = check(exchange, document);
    return fault === false ? [] : [`${name}: ${fault}`];
  });
}

const CHALLENGES = new Map([
  [40100, 'Bearer realm="plant-store"'],
  [40101, 'Bearer realm="plant-store", error="invalid_token"'],
]);

/** Traces of the inside of a program: frames of a stack, statements, files, drivers. */
const INTERNALS =
  /\bat .+:\d+:\d+|node_modules|\.[cm]?[jt]s\b|\b(?:SELECT|INSERT|UPDATE|DELETE) |SQLITE|sqlite|typeorm|\/(?:tmp|home|usr|var|work|app|src|dist)\/|[A-Z]\w+(?:Error|Exception)\b|\[object |undefined|\bNaN\b/;

const CHECKS: Readonly<Record<string, Check>> = {
  not_a_server_error: ({ answer }) => answer.status >= 500 && `the status is ${answer.status}`,

  status_code_conformance: (exchange, { responses }) =>
    isOperation(exchange) &&
    !responses.has(exchange.answer.status) &&
    `the status ${exchange.answer.status} is not documented`,

  content_type_conformance: (exchange, { responses }) => {
    if (!isOperation(exchange)) return false;
    const type = typeOf(exchange.answer);
    const documented = [...(responses.get(exchange.answer.status)?.bodies.keys() ?? [])];
    return !documented.includes(type) && `the Content-Type "${type}" is not documented`;
  },

  response_headers_conformance: (exchange, { responses }) => {
    if (!isOperation(exchange)) return false;
    const { status, headers } = exchange.answer;
    for (const [name, { isRequired, validate }] of responses.get(status)?.headers ?? []) {
      const value = headers.get(name);
      if (value === undefined ? isRequired : !validate(value)) {
        return `the header ${name} is missing or against its schema: ${value ?? ''}`;
      }
    }
    return false;
  },

  response_schema_conformance: (exchange, { responses }) => {
    if (!isOperation(exchange)) return false;
    const { answer } = exchange;
    const validate = responses.get(answer.status)?.bodies.get(typeOf(answer));
    if (validate === undefined || validate(jsonOf(answer))) return false;
    return `the body is against its schema: ${JSON.stringify(validate.errors)}`;
  },

  /** The document alone, not the knowledge of how the body was made, decides what is negative. */
  negative_data_rejection: ({ request, answer, verdict }, document) =>
    schemaSays(request, verdict, document) === false &&
    ![400, 409, 413, 415].includes(answer.status) &&
    `a body against the schema was answered ${answer.status}`,

  positive_data_acceptance: ({ request, answer, verdict }, document) =>
    schemaSays(request, verdict, document) === true &&
    ![200, 409].includes(answer.status) &&
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

  allow_header_conformance: ({ request, answer }, { methods }) => {
    const allow = answer.headers.get('allow');
    if (allow === undefined || !/^\/plants(?:\?|$)/.test(request.target)) return false;
    const named = allow.split(/, */).filter((name) => name !== 'HEAD' && name !== 'OPTIONS');
    return named.sort().join() !== methods.join() && `Allow is ${allow}`;
  },

  right_status: ({ wanted, answer }) => {
    const right = statusOf(wanted);
    // A page asked for with a condition may be as it was.
    if (answer.status === right || (wanted.kind === 'page' && answer.status === 304)) return false;
    return `the status is ${answer.status}, not ${right}`;
  },

  right_plant: ({ wanted, answer }) => {
    if (wanted.kind !== 'created') return false;
    const { name, tag } = wanted.plant;
    const right = tag === undefined ? { name } : { name, tag };
    return !isSame(jsonOf(answer), right) && `the body is not exactly ${JSON.stringify(right)}`;
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

  empty_when_it_must_be: ({ request, answer }) =>
    (request.method === 'HEAD' || answer.status === 204) &&
    answer.body.length > 0 &&
    'there is a body',

  /** A request id, once there is one, is the client's if that is sane, and never a surprise. */
  request_id: ({ request, answer }) => {
    const id = answer.headers.get('x-request-id');
    if (id === undefined) return false;
    if (!/^[!-~]{1,200}$/.test(id)) return `X-Request-Id is ${id}`;
    const sent = request.headers.filter(([name]) => name === 'X-Request-Id');
    const only = sent.length === 1 ? sent[0]?.[1] : undefined;
    if (only === undefined || !/^[A-Za-z0-9_-]{1,64}$/.test(only)) return false;
    return id !== only && `X-Request-Id is ${id}, not ${only}`;
  },

  /** EvoMaster's fault 209, and secrets. */
  nothing_leaks: ({ wanted, answer }) => {
    const said = [...answer.headers.values()].join('\n');
    const body = wanted.kind === 'error' ? answer.body.toString() : '';
    if (INTERNALS.test(body)) return `the message shows internals: ${body}`;
    if (answer.headers.has('x-powered-by')) return 'X-Powered-By is set';
    const leaked = GOOD_TOKENS.some((token) => (said + body).includes(token));
    return leaked && 'the answer holds a token';
  },
};

/** Whether the answer is one that the document describes. */
function isOperation({ request, wanted }: HttpExchange): boolean {
  const isElsewhere = wanted.kind === 'error' && (wanted.error === 40400 || wanted.error === 40000);
  return request.method === 'POST' && /^\/plants(?:\?|$)/.test(request.target) && !isElsewhere;
}

/**
 * Whether the body is valid by the served schema; undefined when a schema cannot tell: the body is
 * not what decides, is not JSON, gives a member twice, or has an id that JSON.parse rounds.
 */
function schemaSays(
  { body }: HttpRequest,
  verdict: Verdict | undefined,
  document: ApiDocument,
): boolean | undefined {
  if (verdict === undefined || verdict.kind === 'unreadable') return undefined;
  if (verdict.kind === 'invalid' && verdict.repeated) return undefined;
  const text = body.toString();
  const value = JSON.parse(text) as unknown;
  if (typeof value === 'object' && value !== null && 'id' in value) {
    if (typeof value.id === 'number' && !isCertain(value.id, text)) return undefined;
  }
  return document.isNewPlant(value);
}

const PLAIN_INTEGER = /"id"\s*:\s*-?\d{1,19}\s*[,}]/;

/** Whether the id is an int64, or is none, beyond what rounding changes. */
function isCertain(id: number, text: string): boolean {
  if (!Number.isInteger(id) || Math.abs(id) > 2 ** 64) return true;
  return Math.abs(id) < 2 ** 63 - 2 ** 54 && PLAIN_INTEGER.test(text);
}

export function statusOf(wanted: Wanted): number {
  switch (wanted.kind) {
    case 'created':
      return 200;
    case 'error':
      return Math.floor(wanted.error / 100);
    case 'options':
      return 204;
    case 'page':
      return wanted.status;
  }
}

function typeOf({ headers }: Answer): string {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return type.trim();
}

function jsonOf({ body }: Answer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function isError(body: unknown): body is { error: number; message: string } {
  if (typeof body !== 'object' || body === null) return false;
  if (Object.keys(body).sort().join() !== 'error,message') return false;
  const { error, message } = body as { error: unknown; message: unknown };
  return Number.isInteger(error) && typeof message === 'string' && message !== '';
}

function isSame(body: unknown, right: Readonly<Record<string, string>>): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const members = Object.entries(body) as [string, unknown][];
  return (
    members.length === Object.keys(right).length &&
    members.every(([name, value]) => Object.hasOwn(right, name) && right[name] === value)
  );
}

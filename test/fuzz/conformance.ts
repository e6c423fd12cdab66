import type { ApiDocument, DocumentedOperation } from './api-document.js';
import { GOOD_TOKENS } from './headers.js';
import type { Answer } from './http-answer.js';
import type { HttpRequest } from './http-request.js';

/** One request to any operation, and its answer. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly answer: Answer;
  /** undefined where the document says nothing of the answer. */
  readonly operation: DocumentedOperation | undefined;
}

/** Every way in which an answer is not as the document and the rules of all operations say. */
export function conformanceFaults(exchange: Exchange, document: ApiDocument): string[] {
  return faultsFoundBy(CHECKS, exchange, document);
}

/** Every fault of an answer, by the name of the check that found it. */
export function faultsFoundBy<Checked>(
  checks: Readonly<Record<string, (exchange: Checked, document: ApiDocument) => string | false>>,
  exchange: Checked,
  document: ApiDocument,
): string[] {
  return Object.entries(checks).flatMap(([name, check]) => {
    const fault = check(exchange, document);
    return fault === false ? [] : [`${name}: ${fault}`];
  });
}

/** Traces of the inside of a program: frames of a stack, statements, files, drivers. */
const INTERNALS =
  /\bat .+:\d+:\d+|node_modules|\.[cm]?[jt]s\b|\b(?:SELECT|INSERT|UPDATE|DELETE) |SQLITE|sqlite|typeorm|\/(?:tmp|home|usr|var|work|app|src|dist)\/|[A-Z]\w+(?:Error|Exception)\b|\[object |undefined|\bNaN\b/;

const CHECKS: Readonly<
  Record<string, (exchange: Exchange, document: ApiDocument) => string | false>
> = {
  not_a_server_error: ({ answer }) => answer.status >= 500 && `the status is ${answer.status}`,

  status_code_conformance: ({ answer: { status }, operation }) =>
    operation?.responses.has(status) === false && `the status ${status} is not documented`,

  content_type_conformance: ({ answer, operation }) => {
    const response = operation?.responses.get(answer.status);
    if (response === undefined) return false;
    const type = typeOf(answer);
    const documented = [...response.bodies.keys()];
    if (documented.length === 0 && type === '') return false;
    return !documented.includes(type) && `the Content-Type "${type}" is not documented`;
  },

  response_headers_conformance: ({ answer: { status, headers }, operation }) => {
    const documented = operation?.responses.get(status)?.headers ?? [];
    for (const [name, { isRequired, validate }] of documented) {
      const value = headers.get(name);
      if (value === undefined ? isRequired : !validate(value)) {
        return `the header ${name} is missing or against its schema: ${value ?? ''}`;
      }
    }
    return false;
  },

  response_schema_conformance: ({ request, answer, operation }) => {
    if (request.method === 'HEAD') return false;
    const response = operation?.responses.get(answer.status);
    const validate = response?.bodies.get(typeOf(answer));
    if (validate === undefined || validate(jsonOf(answer))) return false;
    return `the body is against its schema: ${JSON.stringify(validate.errors)}`;
  },

  allow_header_conformance: ({ request, answer }, document) => {
    const allow = answer.headers.get('allow');
    const methods = document.methods(request.target);
    if (allow === undefined || methods === undefined) return false;
    const named = allow.split(/, */).filter((name) => name !== 'HEAD' && name !== 'OPTIONS');
    return named.sort().join() !== methods.join() && `Allow is ${allow}`;
  },

  empty_when_it_must_be: ({ request, answer }) =>
    (request.method === 'HEAD' || answer.status === 204 || answer.status === 304) &&
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
  nothing_leaks: ({ answer }) => {
    const said = [...answer.headers.values()].join('\n');
    // What is stored may be any text.
    const body = answer.status >= 400 ? answer.body.toString() : '';
    if (INTERNALS.test(body)) return `the message shows internals: ${body}`;
    if (answer.headers.has('x-powered-by')) return 'X-Powered-By is set';
    const leaked = GOOD_TOKENS.some((token) => (said + body).includes(token));
    return leaked && 'the answer holds a token';
  },
};

export function typeOf({ headers }: Answer): string {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return type.trim();
}

/** undefined for a body that is not JSON. */
export function jsonOf({ body }: Pick<Answer, 'body'>): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** Whether it is of the Error shape, and nothing else. */
export function isError(body: unknown): body is { error: number; message: string } {
  if (typeof body !== 'object' || body === null) return false;
  if (Object.keys(body).sort().join() !== 'error,message') return false;
  const { error, message } = body as { error: unknown; message: unknown };
  return Number.isInteger(error) && typeof message === 'string' && message !== '';
}

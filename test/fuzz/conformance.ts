import type { HttpAnswer } from '../support/http/answer.js';
import type { HttpRequest } from '../support/http/request.js';
import type { ApiDocument, DocumentedOperation } from './api-document.js';
import { GOOD_TOKENS } from './headers.js';

/** One request to any operation, and its answer. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly answer: HttpAnswer;
  /** Undefined for an undocumented operation. */
  readonly operation: DocumentedOperation | undefined;
}

/** Lists the violations of the document, and of the rules of all operations, by an answer. */
export function conformanceFaults(exchange: Exchange, document: ApiDocument): string[] {
  return Object.entries(CHECKS).flatMap(([name, check]) => {
    const fault = check(exchange, document);
    return fault === false ? [] : [`${name}: ${fault}`];
  });
}

/** Traces of the inside of a program: frames of a stack, statements, files, drivers. */
const INTERNALS =
  /\bat (?:[\w.<> ]+ \()?[^\s()]+:\d+:\d+|node_modules|\.[cm]?[jt]s\b|\b(?:SELECT|INSERT|UPDATE|DELETE) |SQLITE|sqlite|typeorm|\/(?:tmp|home|usr|var|work|app|src|dist)\/|[A-Z]\w+(?:Error|Exception)\b|\[object |undefined|\bNaN\b/;

const CHECKS: Readonly<
  Record<string, (exchange: Exchange, document: ApiDocument) => string | false>
> = {
  not_a_server_error: ({ answer }) => answer.status >= 500 && `the status is ${answer.status}`,

  status_code_conformance: ({ answer: { status }, operation }) =>
    operation?.responses.has(status) === false && `the status ${status} is not documented`,

  content_type_conformance: ({ answer, operation }) => {
    const response = operation?.responses.get(answer.status);
    if (response === undefined) return false;
    const type = readMediaType(answer);
    const documented = [...response.bodies.keys()];
    if (documented.length === 0 && type === '') return false;
    return !documented.includes(type) && `the Content-Type "${type}" is not documented`;
  },

  response_headers_conformance: ({ answer: { status, headers }, operation }) => {
    const documented = operation?.responses.get(status)?.headers ?? [];
    for (const [name, { isRequired, validate }] of documented) {
      const value = headers[name];
      if (value === undefined ? isRequired : !validate(value)) {
        return `the header ${name} is missing or against its schema: ${value ?? ''}`;
      }
    }
    return false;
  },

  response_schema_conformance: ({ request, answer, operation }) => {
    if (request.method === 'HEAD') return false;
    const response = operation?.responses.get(answer.status);
    const validate = response?.bodies.get(readMediaType(answer));
    if (validate === undefined) return false;
    const body = readMediaType(answer).endsWith('json') ? parseJson(answer) : answer.body;
    if (validate(body)) return false;
    return `the body is against its schema: ${JSON.stringify(validate.errors)}`;
  },

  /** A member that is not in the schema is no mistake of JSON Schema, but one of the service. */
  nothing_undocumented: ({ answer, operation }) => {
    const members = operation?.responses.get(answer.status)?.members;
    const body = parseJson(answer);
    if (members === undefined || typeof body !== 'object' || body === null) return false;
    const others = Object.keys(body).filter((name) => !members.includes(name));
    return others.length > 0 && `the members ${others.join()} are not documented`;
  },

  documented_code: ({ answer, operation }) => {
    const codes = operation?.responses.get(answer.status)?.codes;
    const body = parseJson(answer);
    if (codes === undefined || codes.size === 0 || !isError(body)) return false;
    return !codes.has(body.error) && `the error ${body.error} is not documented`;
  },

  allow_header_conformance: ({ request, answer }, document) => {
    const { allow } = answer.headers;
    const methods = document.methods(request.target);
    if (allow === undefined || methods === undefined) return false;
    const right = ['OPTIONS', ...methods, ...(methods.includes('GET') ? ['HEAD'] : [])];
    return allow.split(', ').sort().join() !== right.sort().join() && `Allow is ${allow}`;
  },

  empty_when_it_must_be: ({ request, answer }) =>
    (request.method === 'HEAD' || answer.status === 204 || answer.status === 304) &&
    answer.body.length > 0 &&
    'there is a body',

  /** A request id, once there is one, is the client's if that is sane, and never a surprise. */
  request_id: ({ request, answer }) => {
    const id = answer.headers['x-request-id'];
    if (id === undefined) return false;
    if (!/^[!-~]{1,200}$/.test(id)) return `X-Request-Id is ${id}`;
    const sent = request.headers.filter(([name]) => name === 'X-Request-Id');
    const only = sent.length === 1 ? sent[0]?.[1] : undefined;
    if (only === undefined || !/^[A-Za-z0-9_-]{1,64}$/.test(only)) return false;
    return id !== only && `X-Request-Id is ${id}, not ${only}`;
  },

  nothing_leaks: ({ answer }) => {
    const said = Object.values(answer.headers).join('\n');
    // Stored texts may contain anything.
    const body = answer.status >= 400 ? answer.body : '';
    if (INTERNALS.test(body)) return `the message shows internals: ${body}`;
    if (answer.headers['x-powered-by'] !== undefined) return 'X-Powered-By is set';
    const leaked = GOOD_TOKENS.some((token) => (said + body).includes(token));
    return leaked && 'the answer holds a token';
  },
};

export function readMediaType({ headers }: HttpAnswer): string {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  return type.trim();
}

/** undefined for a body that is not JSON. */
export function parseJson({ body }: Pick<HttpAnswer, 'body'>): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Whether it has exactly the Error shape. */
export function isError(body: unknown): body is { error: number; message: string } {
  if (typeof body !== 'object' || body === null) return false;
  if (Object.keys(body).sort().join() !== 'error,message') return false;
  const { error, message } = body as { error: unknown; message: unknown };
  return Number.isInteger(error) && typeof message === 'string' && message !== '';
}

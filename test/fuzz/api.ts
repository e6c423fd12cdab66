import type fc from 'fast-check';
import type { HttpAnswer } from '../support/http/answer.js';
import type { HttpRequest } from '../support/http/request.js';
import { TOKEN } from '../../packages/platform/src/testing/token.js';
import type { ApiDocument, Operation } from './api-document.js';

/** Sends one request. Rejects if there is no answer, or one that is not HTTP. */
export type Send = (request: HttpRequest) => Promise<HttpAnswer>;

/** The seed, how many sequences of commands or calls are sent, and whether failures stay as they are. */
export type FuzzOptions = Pick<fc.Parameters, 'seed' | 'numRuns' | 'endOnFailure'>;

/** An answer is wrong. */
export class Fault extends Error {
  constructor(fault: string, request: HttpRequest, answer?: HttpAnswer) {
    const received = answer && `${answer.status} ${JSON.stringify(answer.headers)} ${answer.body}`;
    const body = request.body.toString('latin1');
    const sent = JSON.stringify({ ...request, body }).slice(0, 4_000);
    super(`${fault}\n${sent}\n${received?.slice(0, 2_000) ?? 'no answer'}`);
  }
}

const CHALLENGES: Readonly<Record<number, string>> = {
  40100: 'Bearer realm="plant-store"',
  40101: 'Bearer realm="plant-store", error="invalid_token"',
};

/** Frames of a stack, statements, drivers, and files of the machine. */
const INTERNALS =
  /\bat (?:[\w.<> ]+ \()?[^\s()]+:\d+:\d+|node_modules|SELECT .* FROM |INSERT INTO |UPDATE .* SET |DELETE FROM |SQLITE_|QueryFailedError|\/(?:tmp|home|usr|var|srv|src|dist)\//;

/** Sends requests, and checks for each answer what holds for all of them. */
export class Api {
  requests = 0;
  /** How many answers there were, by status and error. */
  readonly seen = new Map<string, number>();

  constructor(
    private readonly send: Send,
    readonly document: ApiDocument,
  ) {}

  /** @throws Fault if the document, or a rule for all operations, does not allow the answer */
  async ask(request: HttpRequest): Promise<HttpAnswer> {
    this.requests++;
    const answer = await this.send(request).catch((error: unknown) => {
      throw new Fault(`no answer: ${String(error)}`, request);
    });
    const operation = this.document.find(request.method, request.target);
    const fault = findFault(request, answer, operation);
    if (fault !== undefined) throw new Fault(fault, request, answer);
    const error = /^\{"error":(\d+)/.exec(answer.body)?.[1] ?? '';
    const key = `${answer.status} ${error}`.trim();
    this.seen.set(key, (this.seen.get(key) ?? 0) + 1);
    return answer;
  }

  /**
   * Sends a request that must get this answer.
   *
   * @param wanted a status, or the code of an error
   * @param name the member or parameter that the message of the error contains
   * @throws Fault
   */
  async expect(request: HttpRequest, wanted: number, name = ''): Promise<HttpAnswer> {
    const answer = await this.ask(request);
    const fault = findOtherAnswer(answer, wanted, name, request.method === 'HEAD');
    if (fault !== undefined) throw new Fault(fault, request, answer);
    return answer;
  }
}

/** Describes how an answer differs from the wanted one. */
function findOtherAnswer(
  { status, headers, body }: HttpAnswer,
  wanted: number,
  name: string,
  hasNoBody: boolean,
): string | undefined {
  const wantedStatus = wanted < 1_000 ? wanted : Math.floor(wanted / 100);
  if (status !== wantedStatus) return `the status is ${status} and not ${wantedStatus}`;
  if (headers['www-authenticate'] !== CHALLENGES[wanted]) return 'WWW-Authenticate is wrong';
  if (status === 405 && headers.allow === undefined) return 'there is no Allow';
  if (wanted < 1_000 || hasNoBody) return undefined;
  const { error, message } = JSON.parse(body) as { error: number; message: string };
  if (error !== wanted) return `the error is ${error} and not ${wanted}`;
  return message.includes(name) ? undefined : `the message does not name ${name}`;
}

/** Describes what is wrong with an answer of any operation, or of a path that is none. */
function findFault(
  request: HttpRequest,
  { status, headers, body }: HttpAnswer,
  operation: Operation | undefined,
): string | undefined {
  if (status === 500) return 'a bug of the service';
  const schemas = operation?.answers.get(status);
  if (operation !== undefined && schemas === undefined) return 'the status is not documented';

  const id = headers['x-request-id'] ?? '';
  if (!/^[!-~]{1,200}$/.test(id)) return 'X-Request-Id is wrong';
  const sent = request.headers.find(([name]) => name === 'X-Request-Id')?.[1] ?? '';
  if (/^[\w-]{1,64}$/.test(sent) && id !== sent) return 'X-Request-Id is not that of the request';

  // An answer that succeeds may hold any text that was stored.
  const shown = JSON.stringify(headers) + (status < 400 ? '' : body);
  if (INTERNALS.test(shown)) return 'the answer shows internals';
  if (shown.includes(TOKEN)) return 'the answer shows the token';

  if (request.method === 'HEAD' || status === 204 || status === 304) return undefined;
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const content = /^application\/([\w.-]+\+)?json$/.test(type) ? parseJson(body) : body;
  if (status >= 400 && (type !== 'application/json' || !isError(content))) {
    return 'the body does not have the Error shape';
  }
  if (schemas === undefined || (schemas.size === 0 && body === '')) return undefined;
  const validate = schemas.get(type);
  if (validate === undefined) {
    if (type === '') return 'an answer without a body is not documented';
    return `the Content-Type ${type} is not documented: write @ApiOkResponse({ type: AClass }) at the handler`;
  }
  // The schema of bytes says little of them as text.
  if (typeof content === 'string' && type !== 'application/json') return undefined;
  return validate(content) ? undefined : `against the schema: ${JSON.stringify(validate.errors)}`;
}

/** Undefined for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isError(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const { error, message, ...others } = body as Record<string, unknown>;
  const isCode = Number.isInteger(error) && Math.abs(Number(error)) < 2 ** 31;
  return isCode && typeof message === 'string' && message !== '' && !Object.keys(others).length;
}

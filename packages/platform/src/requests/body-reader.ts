import { HttpException, type ValidationPipe } from '@nestjs/common';
import { parse as parseContentType } from 'content-type';
import type { Request, Response } from 'express';
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorKind } from '../errors/error-catalogue.js';
import { GIVEN_TWICE, JsonSyntaxError, readJson, type Shape } from 'durable-store/json';
import type { CompiledDto } from '../validation/compiled-dto.js';
import { readExceptionText } from '../errors/exception-text.js';
import { joinFaults } from '../errors/faults.js';
import { EXACT_TEXT } from '../validation/exact-values.js';
import { BodyChunks, GrowingBuffer } from './body-chunks.js';

/** The longest JSON body or line that is read, in bytes, unless a handler has another limit. */
export const BODY_LIMIT = 102_400;

/** The media type that curl sends unless it is told another. */
const FORM = /^application\/x-www-form-urlencoded/i;

interface Limits {
  readonly mediaTypes: readonly string[];
  /** How many bytes a body, or a line of it, may have. */
  readonly limit: number;
}

/** JSON in UTF-8: one value, or one in each line. */
export interface JsonRule extends Limits {
  readonly kind: 'json' | 'lines';
  /** The class of a body, or of each line of it. */
  readonly dto: CompiledDto;
  /** The pipes that check it in place of this program, if its author wrote any. */
  readonly pipes?: readonly ValidationPipe[];
}

/** The bodies that an operation takes. */
export type BodyRule = JsonRule | (Limits & { readonly kind: 'bytes' });

/**
 * Reads the body of a request. Before this call, nothing has been read, and a client that sent
 * `Expect: 100-continue` has received no 100 (Continue).
 *
 * @param timeoutMs how long it may take until the body has arrived; of a body that is no text, how
 *   long the client may send nothing
 * @throws ApiError 40001, 41300, 41500, in the documented order; 40800 when it arrives too late;
 *   50300 when too many bodies arrive at a time
 * @throws RequestAbortedError
 */
export async function readBody(
  response: Response,
  rule: BodyRule,
  timeoutMs: number,
): Promise<Buffer> {
  const { req } = response;
  if (req.readableDidRead) {
    throw new TypeError(
      'A middleware such as express.json() has read the body: use it only on paths whose handlers have no @Body()',
    );
  }
  const { 'content-length': length = '0', 'transfer-encoding': coding } = req.headers;
  const isChunked = coding !== undefined;
  if (!isChunked) checkBody(req, Number(length), rule);
  continueIfExpected(response);

  const arrived = isChunked ? undefined : readArrived(req, Number(length));
  const bytes = arrived ?? (await readBytes(req, rule, timeoutMs));
  // The length of a chunked body is known only at its end.
  if (isChunked) checkBody(req, bytes.length, rule);
  if (rule.kind !== 'bytes' && !isUtf8(bytes)) {
    throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The body is not UTF-8');
  }
  return bytes;
}

/** Sends 100 (Continue) to a client that waits for it. */
export function continueIfExpected(response: Response): void {
  const { headers, httpVersion } = response.req;
  // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
  if (headers.expect !== undefined && httpVersion === '1.1') response.writeContinue();
}

function checkBody(req: IncomingMessage, length: number, rule: BodyRule): void {
  if (length === 0) throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The body is empty');
  checkMediaType(req, rule);
  if (length <= rule.limit) return;
  const message = `The body is larger than ${rule.limit} bytes`;
  throw new ApiError(ErrorCatalogue.BODY_TOO_LARGE, message);
}

/** Reads the whole body if it arrived in one chunk with the headers, as most do. */
function readArrived(req: IncomingMessage, length: number): Buffer | undefined {
  if (req.readableLength !== length) return undefined;
  const bytes = req.read() as Buffer;
  req.resume();
  return bytes;
}

/** Resolves with the whole body, or with the start of one that exceeds the limit. */
async function readBytes(
  req: Request,
  { limit, kind }: BodyRule,
  timeoutMs: number,
): Promise<Buffer> {
  const body = new GrowingBuffer(limit + 1);
  // A photo may take minutes on a slow network.
  const end = kind === 'bytes' ? Infinity : performance.now() + timeoutMs;
  const chunks = new BodyChunks(req, timeoutMs, end);
  chunks.countMemory(body.capacity);
  for await (const chunk of chunks) {
    body.add(chunk);
    chunks.countMemory(body.capacity);
    if (body.length > limit) break;
  }
  return body.bytes;
}

/**
 * Checks the declared type of a body before reading it.
 *
 * @throws ApiError 41500 with the received and the accepted types; for a PATCH also with
 *   `Accept-Patch` (RFC 5789 section 3.1)
 */
export function checkMediaType({ method, headers }: IncomingMessage, rule: BodyRule): void {
  const wrong = findWrongMediaType(headers, rule);
  if (wrong === undefined) return;
  const { mediaTypes, kind } = rule;
  const wanted = `${mediaTypes.join(' or ')}${kind === 'bytes' ? '' : ' in UTF-8'}`;
  throw new ApiError(
    ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE,
    `The body has ${wrong}: send ${wanted}, without a Content-Encoding${adviseCurl(headers, rule)}`,
    method === 'PATCH' ? { 'Accept-Patch': mediaTypes.join(', ') } : {},
  );
}

function findWrongMediaType(
  { 'content-type': contentType, 'content-encoding': contentEncoding }: IncomingHttpHeaders,
  { mediaTypes, kind }: BodyRule,
): string | undefined {
  if (contentType === undefined) return 'no Content-Type';
  const { type, parameters } = parseContentType(contentType);
  if (!mediaTypes.includes(type)) return `the Content-Type ${quote(contentType)}`;
  const { charset = 'utf-8' } = parameters;
  if (kind !== 'bytes' && !/^utf-?8$/i.test(charset)) return `the charset ${quote(charset)}`;
  const isIdentity = (contentEncoding ?? 'identity').trim().toLowerCase() === 'identity';
  return isIdentity ? undefined : `the Content-Encoding ${quote(contentEncoding ?? '')}`;
}

/** Advises a client that sends lines as `curl -d @file` does. */
function adviseCurl(
  { 'content-type': contentType = '' }: IncomingHttpHeaders,
  { kind, mediaTypes }: BodyRule,
): string {
  if (kind !== 'lines' || !FORM.test(contentType)) return '';
  return `. With curl: -H "Content-Type: ${mediaTypes.join()}" --data-binary @file, since -d removes the line feeds`;
}

/** Quotes at most 64 characters of a received text for a message. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

/** The media type of a JSON merge patch (RFC 7396). */
export const MERGE_PATCH_TYPE = 'application/merge-patch+json';

/** Makes the rule for bodies that are one instance of a class. */
export function makeJsonRule(dto: CompiledDto, limit = BODY_LIMIT): JsonRule {
  const patchTypes = dto.isPatch ? [MERGE_PATCH_TYPE] : [];
  const mediaTypes = [...patchTypes, 'application/json'];
  return { kind: 'json', mediaTypes, limit, dto };
}

/** Why a text is refused. It is no error, since throwing one takes longer than reading most lines. */
export class InputRefusal implements ErrorKind {
  readonly error: number;

  constructor(
    { error }: ErrorKind,
    readonly message: string,
  ) {
    this.error = error;
  }
}

/**
 * Parses and checks JSON text as an instance of a class, in time linear in the length of the text.
 * Returns a promise if there are asynchronous rules.
 *
 * @param noun the name of the text in messages
 * @returns the instance, or its refusal with 40001 or 40002. If pipes check a body, an object for them:
 *   Nest runs them afterwards
 */
export function parseObject(
  text: string,
  { dto, pipes = [] }: Pick<JsonRule, 'dto' | 'pipes'>,
  noun: 'body' | 'line',
): object | Promise<object> {
  const isForPipes = pipes.length > 0;
  const object = readObject(text, isForPipes ? dto.plain : dto, noun);
  if (object instanceof InputRefusal) return object;
  const finish = (faults: readonly string[]): object =>
    refuseFaults(faults, `The ${noun} is not valid`) ?? object;
  if (!isForPipes) {
    const faults = dto.check(object);
    return faults instanceof Promise ? faults.then(finish) : finish(faults);
  }
  const plain = finish(explainPlain(dto, object));
  const isRefused = plain instanceof InputRefusal;
  return isRefused || noun === 'body' ? plain : runPipes(pipes, dto, plain);
}

/** Parses the text of an object. Returns its refusal if it is not one. */
function readObject(text: string, shape: Shape, noun: 'body' | 'line'): object {
  try {
    const object = readJson(text, shape);
    if (typeof object === 'object' && object !== null && !Array.isArray(object)) return object;
    return new InputRefusal(ErrorCatalogue.INVALID_BODY, `The ${noun} must be a JSON object`);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const fault = text.startsWith('\uFEFF')
      ? 'begins with a byte order mark: leave it out (RFC 8259 section 8.1)'
      : error.message;
    return new InputRefusal(ErrorCatalogue.UNREADABLE_BODY, `The ${noun} ${fault}`);
  }
}

/** Explains why pipes must not get an object. */
function explainPlain(dto: CompiledDto, plain: object): readonly string[] {
  const excess = dto.explainSize(plain);
  return excess === undefined ? listUnreadable(plain) : [excess];
}

/** Lists a fault for each member that is given twice, or that no engine can store as it was sent. */
function listUnreadable(plain: object): string[] {
  return Object.entries(plain).flatMap(([name, value]: [string, unknown]) => {
    if (value === GIVEN_TWICE) return `${name} is given more than once`;
    if (!EXACT_TEXT.isExact(value)) return `${name} ${EXACT_TEXT.reason}`;
    return typeof value === 'object' && value !== null ? listUnreadable(value) : [];
  });
}

/** Checks a line as Nest checks a body. */
async function runPipes(
  pipes: readonly ValidationPipe[],
  { type }: CompiledDto,
  plain: object,
): Promise<object> {
  let value: unknown = plain;
  try {
    for (const pipe of pipes) {
      value = await pipe.transform(value, { type: 'body', metatype: type });
    }
    return value as object;
  } catch (error) {
    if (!(error instanceof HttpException)) throw error;
    const text = readExceptionText(error) ?? error.message;
    return new InputRefusal(ErrorCatalogue.INVALID_BODY, `The line is not valid: ${text}`);
  }
}

/**
 * Checks an instance by the rules that are not asynchronous.
 *
 * @throws ApiError 40002 with its faults, after the start of a sentence
 */
export function assertValid(dto: CompiledDto, object: object, sentence: string): void {
  const refusal = refuseFaults(dto.checkSynchronously(object), sentence);
  if (refusal !== undefined) throw new ApiError(refusal);
}

/** Returns undefined if there are no faults. */
function refuseFaults(faults: readonly string[], sentence: string): InputRefusal | undefined {
  if (faults.length === 0) return undefined;
  return new InputRefusal(ErrorCatalogue.INVALID_BODY, `${sentence}: ${joinFaults(faults)}`);
}

import { parse as parseContentType } from 'content-type';
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { JsonSyntaxError, readJson } from '../json/json.js';
import { type CompiledDto, joinFaults } from '../validation/compiled-dto.js';
import { BodyChunks, GrowingBuffer } from './body-chunks.js';

/** The longest body that is read, in bytes. */
export const BODY_LIMIT = 102_400;

interface Limits {
  readonly mediaTypes: readonly string[];
  /** How many bytes a body, or a line of it, may have. */
  readonly limit: number;
}

/** The bodies of JSON in UTF-8 that an operation takes. */
export interface JsonRule extends Limits {
  /** The class of a body, or of each line of it. */
  readonly dto: CompiledDto;
  readonly isLines: boolean;
}

/** The bodies that an operation takes: JSON, or else bytes. */
export type BodyRule = JsonRule | (Limits & { readonly dto?: undefined });

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
  response: ServerResponse,
  rule: BodyRule,
  timeoutMs: number,
): Promise<Buffer> {
  const { req } = response;
  const { 'content-length': declared = '0', 'transfer-encoding': coding } = req.headers;
  // The length of a chunked body is known only at its end.
  const length = coding === undefined ? Number(declared) : undefined;
  if (length !== undefined) checkBody(req, length, rule);
  continueIfExpected(response);

  const bytes = readArrived(req, length) ?? (await readBytes(req, rule, timeoutMs));
  if (length === undefined) checkBody(req, bytes.length, rule);
  if (rule.dto !== undefined && !isUtf8(bytes)) {
    throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The body is not UTF-8');
  }
  return bytes;
}

/** Sends 100 (Continue) to a client that waits for it. */
export function continueIfExpected(response: ServerResponse): void {
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
function readArrived(req: IncomingMessage, length: number | undefined): Buffer | undefined {
  if (req.readableLength !== length) return undefined;
  const bytes = req.read() as Buffer;
  req.resume();
  return bytes;
}

/** Resolves with the whole body, or with the start of one that exceeds the limit. */
async function readBytes(
  req: IncomingMessage,
  { limit, dto }: BodyRule,
  timeoutMs: number,
): Promise<Buffer> {
  const body = new GrowingBuffer(limit + 1);
  // A photo may take minutes on a slow network.
  const chunks = new BodyChunks(req, timeoutMs, dto && performance.now() + timeoutMs);
  chunks.hold(body.capacity);
  for await (const chunk of chunks) {
    body.add(chunk);
    chunks.hold(body.capacity);
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
  const { mediaTypes, dto } = rule;
  const wanted = `${mediaTypes.join(' or ')}${dto === undefined ? '' : ' in UTF-8'}`;
  throw new ApiError(
    ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE,
    `The body has ${wrong}: send ${wanted}, without a Content-Encoding`,
    method === 'PATCH' ? { 'Accept-Patch': mediaTypes.join(', ') } : {},
  );
}

function findWrongMediaType(
  { 'content-type': contentType, 'content-encoding': contentEncoding }: IncomingHttpHeaders,
  { mediaTypes, dto }: BodyRule,
): string | undefined {
  if (contentType === undefined) return 'no Content-Type';
  const { type, parameters } = parseContentType(contentType);
  if (!mediaTypes.includes(type)) return `the Content-Type ${quote(contentType)}`;
  const { charset = 'utf-8' } = parameters;
  if (dto !== undefined && !/^utf-?8$/i.test(charset)) return `the charset ${quote(charset)}`;
  const isIdentity = (contentEncoding ?? 'identity').trim().toLowerCase() === 'identity';
  return isIdentity ? undefined : `the Content-Encoding ${quote(contentEncoding ?? '')}`;
}

/** Quotes at most 64 characters of a received text for a message. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

/** Makes the rule for bodies that are one instance of a class. */
export function makeJsonRule(dto: CompiledDto): JsonRule {
  const patchTypes = dto.patched === undefined ? [] : ['application/merge-patch+json'];
  const mediaTypes = [...patchTypes, 'application/json'];
  return { mediaTypes, limit: BODY_LIMIT, dto, isLines: false };
}

/**
 * Parses and checks JSON text as an instance of a class, in time linear in the length of the text.
 *
 * @param noun the name of the text in messages
 * @throws ApiError 40001, 40002
 */
export function parseObject(text: string, dto: CompiledDto, noun: 'body' | 'line'): object {
  let object: unknown;
  try {
    object = readJson(text, dto);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, `The ${noun} ${error.message}`);
  }
  if (!(object instanceof dto.type)) {
    throw new ApiError(ErrorCatalogue.INVALID_BODY, `The ${noun} must be a JSON object`);
  }
  assertValid(dto, object, `The ${noun} is not valid`);
  return object;
}

/** @throws ApiError 40002 with the faults of an instance, after the start of a sentence */
export function assertValid(dto: CompiledDto, object: object, sentence: string): void {
  const faults: string[] = [];
  dto.check(object, faults);
  if (faults.length === 0) return;
  throw new ApiError(ErrorCatalogue.INVALID_BODY, `${sentence}: ${joinFaults(faults)}`);
}

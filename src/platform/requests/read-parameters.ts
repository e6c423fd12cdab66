import type { Request } from 'express';
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { GIVEN_TWICE } from '../json/json.js';
import { INTEGER } from '../json/json-number.js';
import { type CompiledDto, joinFaults } from '../validation/compiled-dto.js';

/** Numbers have no exponent. */
const NUMBER = /^(?:0|-?(?:0\.[0-9]+|[1-9][0-9]*(?:\.[0-9]+)?))$/;
const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
]);

/** Converts text to a type of JSON Schema; undefined if the text has another spelling. */
const CONVERSIONS = new Map<unknown, (text: string) => unknown>([
  ['string', (text) => text],
  ['number', toNumber],
  ['integer', (text) => (INTEGER.test(text) ? toNumber(text) : undefined)],
  ['boolean', (text) => BOOLEANS.get(text)],
]);

/** Returns undefined for an integer that a JavaScript number cannot hold exactly. */
function toNumber(text: string): number | undefined {
  const value = Number(text);
  const isExact = INTEGER.test(text) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return NUMBER.test(text) && isExact ? value : undefined;
}

/**
 * How long a value may be, in bytes as encoded in a URL: a `Link` must have room for several
 * values.
 */
export const MAX_ENCODED = 4_096;

/** Parameters whose rules depend on the headers of the request. */
export interface ReadsHeaders {
  /** Called before the parameters are read. */
  readHeaders(headers: IncomingHttpHeaders): void;
}

/** @throws TypeError when a member of the class cannot be a parameter */
export function checkParameterDto({ type, members }: CompiledDto): void {
  for (const { name, isList, nested, valueType, schema } of members) {
    if (isList || nested !== undefined || !(valueType ?? CONVERSIONS.has(schema.type))) {
      throw new TypeError(`${type.name}.${name}: a parameter is a single text, number or boolean`);
    }
  }
}

/**
 * Checks the parameters of a path and a query, and puts them where Nest reads them.
 *
 * @throws ApiError 40003
 */
export function setParameters(
  request: Request,
  query: CompiledDto | undefined,
  path: CompiledDto | undefined,
): void {
  const { headers } = request;
  const faults: string[] = [];
  if (path !== undefined) {
    const given = Object.entries(request.params as Record<string, string>);
    request.params = readParameters('path', given, path, headers, faults) as never;
  }
  const given = query && parseQuery(request.url, faults);
  if (query !== undefined && given !== undefined) {
    const value = readParameters('query', given, query, headers, faults);
    // In Express, `query` is a getter that parses the URL each time.
    Object.defineProperty(request, 'query', { value });
  }
  if (faults.length === 0) return;
  throw new ApiError(ErrorCatalogue.INVALID_PARAMETERS, faults.join('. '));
}

/** Returns undefined, and adds a fault, if the query cannot be decoded. */
function parseQuery(url: string, faults: string[]): URLSearchParams | undefined {
  const start = url.indexOf('?');
  const text = start === -1 ? '' : url.slice(start);
  try {
    // URLSearchParams replaces what is not UTF-8.
    decodeURIComponent(text);
    return new URLSearchParams(text);
  } catch {
    faults.push('The query is not valid: it is not percent-encoded UTF-8');
    return undefined;
  }
}

/**
 * Reads parameters as an instance of a class, and adds their faults to those of the request. Text
 * that is no spelling of its member's type stays text, which the rules of the member reject.
 */
function readParameters(
  place: 'path' | 'query',
  parameters: Iterable<readonly [name: string, value: string]>,
  dto: CompiledDto,
  headers: IncomingHttpHeaders,
  allFaults: string[],
): object {
  const instance = new dto.type() as Record<string, unknown> & Partial<ReadsHeaders>;
  instance.readHeaders?.(headers);
  const faults: string[] = [];
  const given = new Set<string>();
  for (const [name, text] of parameters) {
    const member = dto.members.find((one) => one.name === name);
    if (member === undefined) {
      // The class of a path need not name all parameters of the route.
      if (place === 'query') faults.push(`${JSON.stringify(name)} is not a parameter`);
      continue;
    }
    const read = member.valueType?.readParameter ?? CONVERSIONS.get(member.schema.type);
    instance[name] = given.has(name) ? GIVEN_TWICE : (read?.(text) ?? text);
    given.add(name);
    // No engine can store U+0000, so no row can match.
    if (text.includes('\0')) {
      faults.push(`${name} must not contain U+0000 or an unpaired surrogate`);
    }
    if (member.schema.type === 'string' && encodeURIComponent(text).length > MAX_ENCODED) {
      faults.push(`${name} must not be longer than ${MAX_ENCODED} bytes, encoded as in a URL`);
    }
  }
  dto.check(instance, faults);
  if (faults.length > 0) allFaults.push(`The ${place} is not valid: ${joinFaults(faults)}`);
  return instance;
}

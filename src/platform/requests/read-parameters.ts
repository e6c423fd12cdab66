import type { Request } from 'express';
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { GIVEN_TWICE } from '../json/json-reader.js';
import { INTEGER } from '../json/json-number.js';
import { ValidationErrors } from '../validation/validation-errors.js';
import type { CompiledDto, Member } from '../validation/compiled-dto.js';
import { isTypeUncertain } from '../validation/member-type.js';

/** Numbers have no exponent. */
const NUMBER = /^(?:0|-?(?:0\.[0-9]+|[1-9][0-9]*(?:\.[0-9]+)?))$/;
const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
]);

/** Converts text to the class of a member; undefined if the text has another spelling. */
const CONVERSIONS = new Map<unknown, (text: string) => unknown>([
  [String, (text) => text],
  [Number, toNumber],
  [Boolean, (text) => BOOLEANS.get(text)],
]);

/** Returns undefined for an integer that a JavaScript number cannot hold exactly. */
function toNumber(text: string): number | undefined {
  const value = Number(text);
  const isExact = INTEGER.test(text) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return NUMBER.test(text) && isExact ? value : undefined;
}

/** @returns undefined for text that is no spelling of the member's type */
function readText(text: string, { type, valueType, rules }: Member): unknown {
  if (valueType !== undefined) return valueType.readParameter(text);
  const isInteger = rules.rules.some(({ name }) => name === 'isInt');
  return isInteger && !INTEGER.test(text) ? undefined : CONVERSIONS.get(type)?.(text);
}

/**
 * How long a value may be, in bytes as encoded in a URL: a `Link` must have room for several
 * values.
 */
const MAX_ENCODED = 4_096;

/** Parameters whose rules depend on the headers of the request. */
export interface ReadsHeaders {
  /** Called before the parameters are read. */
  readHeaders(headers: IncomingHttpHeaders): void;
}

/** @throws TypeError when a member of the class cannot be a parameter */
export function checkParameterDto({ type, members }: CompiledDto): void {
  for (const member of members) {
    if (member.type !== Array && isTypeUncertain(type, member.name, member.rules)) {
      throw new TypeError(
        `${type.name}.${member.name}: no rule says what its type is; add one that does, such as @IsText(), @IsInt64(), @IsBoolean() or @IsIn()`,
      );
    }
    if (member.type === Array || (!CONVERSIONS.has(member.type) && !member.valueType)) {
      throw new TypeError(
        `${type.name}.${member.name}: a parameter is declared as string, number, boolean or bigint, or has a type of its own`,
      );
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
  const errors = { path: new ValidationErrors(), query: new ValidationErrors() };
  if (path !== undefined) {
    // The class need not name all parameters of the route.
    const ignore = (): void => undefined;
    const parameters = Object.entries(request.params as Record<string, string>);
    Object.assign(request, {
      params: readParameters(parameters, path, request.headers, errors.path, ignore),
    });
  }
  if (query !== undefined) {
    // In Express, `query` is a getter that parses the URL each time.
    Object.defineProperty(request, 'query', { value: readQuery(request, query, errors.query) });
  }
  if (errors.path.isEmpty && errors.query.isEmpty) return;
  const texts = Object.entries(errors)
    .filter(([, { isEmpty }]) => !isEmpty)
    .map(([place, its]) => `The ${place} is not valid: ${String(its)}`);
  throw new ApiError(ErrorCatalogue.INVALID_PARAMETERS, texts.join('. '));
}

function readQuery(
  { url, headers }: Request,
  query: CompiledDto,
  errors: ValidationErrors,
): object | undefined {
  try {
    return readParameters(parseQuery(url), query, headers, errors, (name) => {
      errors.add(`${JSON.stringify(name)} is not a parameter`);
    });
  } catch (error) {
    if (!(error instanceof QuerySyntaxError)) throw error;
    errors.add('it is not percent-encoded UTF-8');
    return undefined;
  }
}

/**
 * Reads parameters as an instance of a class, and collects their errors. Text that is no spelling
 * of its member's type stays text, which the rules of the member reject.
 *
 * @param onUnknown gets the name of each parameter that the class does not have
 */
function readParameters(
  parameters: Iterable<readonly [name: string, value: string]>,
  dto: CompiledDto,
  headers: IncomingHttpHeaders,
  errors: ValidationErrors,
  onUnknown: (name: string) => void,
): object {
  const instance = new dto.type() as Record<string, unknown>;
  if (readsHeaders(instance)) instance.readHeaders(headers);
  const given = new Set<string>();
  for (const [name, text] of parameters) {
    const member = dto.members.find((one) => one.name === name);
    if (member === undefined) {
      onUnknown(name);
    } else {
      instance[name] = given.has(name) ? GIVEN_TWICE : (readText(text, member) ?? text);
      given.add(name);
      // No engine can store U+0000, so no row can match.
      if (text.includes('\0')) {
        errors.add(`${name} must not contain U+0000 or an unpaired surrogate`);
      }
      if (member.type === String && encodeURIComponent(text).length > MAX_ENCODED) {
        errors.add(`${name} must not be longer than ${MAX_ENCODED} bytes, encoded as in a URL`);
      }
    }
  }
  dto.check(instance, errors);
  return instance;
}

function readsHeaders(instance: object): instance is ReadsHeaders {
  return 'readHeaders' in instance;
}

/** The text is not a query of percent-encoded UTF-8. */
class QuerySyntaxError extends Error {}

/**
 * Parses the parameters of a URL's query in their order, as browsers and `URLSearchParams` encode
 * them: `+` is a space, a name without `=` has an empty value, and empty pieces are ignored.
 *
 * @throws QuerySyntaxError
 */
function parseQuery(url: string): (readonly [name: string, value: string])[] {
  const start = url.indexOf('?');
  if (start === -1) return [];
  return url
    .slice(start + 1)
    .split('&')
    .filter((piece) => piece !== '')
    .map((piece) => {
      const equals = piece.indexOf('=');
      return equals === -1
        ? [decode(piece), '']
        : [decode(piece.slice(0, equals)), decode(piece.slice(equals + 1))];
    });
}

function decode(text: string): string {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new QuerySyntaxError();
  }
}

import type { Request } from 'express';
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { GIVEN_TWICE, INTEGER } from 'durable-store/json';
import type { CompiledDto } from '../validation/compiled-dto.js';
import type { Member } from '../validation/dto-member.js';
import { joinFaults } from '../errors/faults.js';

/** A number without an exponent. */
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
 * How long a value may be, in bytes as encoded in a URL: a `Link` must hold several values.
 */
export const MAX_ENCODED = 4_096;

/** Parameters whose rules depend on the headers of the request. */
export interface ReadsHeaders {
  /** Called before the parameters are read. */
  readHeaders(headers: IncomingHttpHeaders): void;
}

/** The parameters that a handler takes from a path or a query. */
export interface Parameters {
  /** The class of `@Query()` or `@Param()`. */
  readonly dto: CompiledDto | undefined;
  /** The names of single parameters, such as `@Query('name')`. */
  readonly singles: ReadonlySet<string>;
  /** The names of those of them that are texts. */
  readonly textNames: ReadonlySet<string>;
}

/** @throws TypeError when a member of the class cannot be a parameter */
export function checkParameterDto({ type, members }: CompiledDto): void {
  for (const member of members) {
    const { name, isList, nested, valueType, schema, isTransformed } = member;
    const isSingle = !isList && nested === undefined;
    const isRead = valueType !== undefined || CONVERSIONS.has(schema.type) || 'oneOf' in schema;
    if (isTransformed || (isSingle && isRead)) continue;
    throw new TypeError(
      `${type.name}.${name}: a parameter is a single text, number or boolean; for several values, write @Transform(), or the single parameter with ParseArrayPipe`,
    );
  }
}

/**
 * Checks the parameters of a path and a query, and puts them where Nest reads them. Returns a promise
 * if there are asynchronous rules.
 *
 * @throws ApiError 40003
 */
export function setParameters(
  request: Request,
  query: Parameters | undefined,
  path: Parameters | undefined,
): Promise<void> | undefined {
  const ofPath = path === undefined ? [] : readPath(request, path);
  const ofQuery = query === undefined ? [] : readQuery(request, query);
  if (ofPath instanceof Promise || ofQuery instanceof Promise) {
    return Promise.all([ofPath, ofQuery]).then((faults) => refuseFaults(...faults));
  }
  refuseFaults(ofPath, ofQuery);
  return undefined;
}

type Place = 'path' | 'query';

/** The parameters of a request, by their names. */
type Sent = Iterable<readonly [name: string, value: string | string[]]>;

/** The faults of a path or a query. Of asynchronous rules, they come later. */
type Faults = readonly string[] | Promise<readonly string[]>;

function readPath(request: Request, path: Parameters): Faults {
  const given = Object.entries(request.params);
  const { value, faults } = readParameters('path', given, path, request);
  if (value !== undefined) request.params = value as never;
  return faults;
}

function readQuery(request: Request, query: Parameters): Faults {
  const given = parseQuery(request.url);
  if (given === undefined) return ['it is not percent-encoded UTF-8'];
  request.state.sentQuery = given;
  const { value, faults } = readParameters('query', given, query, request);
  // In Express, `query` is a getter that parses the URL each time. A handler may pass the request on to
  // another one, which sets its own.
  if (value !== undefined) Object.defineProperty(request, 'query', { value, configurable: true });
  return faults;
}

function refuseFaults(path: readonly string[], query: readonly string[]): void {
  if (path.length === 0 && query.length === 0) return;
  const sentences = Object.entries({ path, query }).flatMap(([place, faults]) =>
    faults.length === 0 ? [] : `The ${place} is not valid: ${joinFaults(faults)}`,
  );
  throw new ApiError(ErrorCatalogue.INVALID_PARAMETERS, sentences.join('. '));
}

/** Returns undefined if the query cannot be decoded. */
function parseQuery(url: string): URLSearchParams | undefined {
  const start = url.indexOf('?');
  const text = start === -1 ? '' : url.slice(start);
  try {
    // URLSearchParams replaces what is not UTF-8.
    decodeURIComponent(text);
    return new URLSearchParams(text);
  } catch {
    return undefined;
  }
}

/**
 * Reads parameters as an instance of their class, if there is one. Text that is no spelling of its
 * member's type stays text, which the rules of the member reject.
 */
function readParameters(
  place: Place,
  sent: Sent,
  parameters: Parameters,
  { headers }: Request,
): { readonly value: object | undefined; readonly faults: Faults } {
  const { dto, singles } = parameters;
  const { texts, faults } = collectTexts(place, sent, parameters);
  if (dto === undefined) return { value: undefined, faults };
  const instance = new dto.type() as Record<string, unknown> & Partial<ReadsHeaders>;
  instance.readHeaders?.(headers);
  setMembers(dto, instance, texts);
  const allFaults = dto.check(instance, faults);
  for (const name of singles) {
    // Nest takes single parameters from here too. They are not enumerable, so that the handler sees only
    // the members of its class.
    const isMember = Object.hasOwn(instance, name);
    if (!isMember) Object.defineProperty(instance, name, { value: texts.get(name) });
  }
  return { value: instance, faults: allFaults };
}

/** Collects the text or the texts of each parameter, and the faults that no rule of a class finds. */
function collectTexts(
  place: Place,
  sent: Sent,
  { dto, singles, textNames }: Parameters,
): { readonly texts: ReadonlyMap<string, string | string[]>; readonly faults: string[] } {
  // The class of a path need not name all parameters of the route, and single parameters alone do not
  // refuse others.
  const refusesOthers = place === 'query' && dto !== undefined;
  const texts = new Map<string, string | string[]>();
  const faults: string[] = [];
  for (const [name, value] of sent) {
    const member = dto?.members.find((one) => one.jsonName === name && !one.isComputed);
    const isDeclared = member !== undefined || singles.has(name);
    if (refusesOthers && !isDeclared) {
      faults.push(`${JSON.stringify(name)} is not a parameter`);
      continue;
    }
    // A wildcard of a path has an array of segments.
    const text = typeof value === 'string' ? value : value.join('/');
    addText(texts, name, text);
    const isText = member === undefined ? textNames.has(name) : member.schema.type === 'string';
    if (isText || member !== undefined) faults.push(...explainText(name, text, isText));
  }
  return { texts, faults };
}

function addText(texts: Map<string, string | string[]>, name: string, text: string): void {
  const before = texts.get(name);
  if (before === undefined) texts.set(name, text);
  else if (typeof before === 'string') texts.set(name, [before, text]);
  else before.push(text);
}

function explainText(name: string, text: string, isText: boolean): string[] {
  // No engine can store U+0000, so no row can match.
  if (text.includes('\0')) return [`${name} must not contain U+0000 or an unpaired surrogate`];
  if (!isText || encodeURIComponent(text).length <= MAX_ENCODED) return [];
  return [`${name} must not be longer than ${MAX_ENCODED} bytes, encoded as in a URL`];
}

/** Converts text to the type of a member. A transform gets the text itself, as class-transformer has it. */
function readText({ valueType, schema, isTransformed }: Member, text: string): unknown {
  if (valueType !== undefined) return valueType.readParameter(text) ?? text;
  return isTransformed ? text : convertText(schema, text);
}

function convertText({ type, oneOf }: Member['schema'], text: string): unknown {
  if (oneOf === undefined) return CONVERSIONS.get(type)?.(text) ?? text;
  const words = (oneOf as { readonly enum?: readonly unknown[] }[]).flatMap(
    (one) => one.enum ?? [],
  );
  return words.find((word) => String(word) === text) ?? text;
}

/**
 * Sets the members of an instance. A text that a transform returns is read like a text that was sent.
 */
function setMembers(
  dto: CompiledDto,
  instance: Record<string, unknown>,
  given: ReadonlyMap<string, string | string[]>,
): void {
  const values = new Map<string, unknown>();
  for (const [jsonName, sent] of given) {
    const member = dto.assigned.get(jsonName);
    // A transform may read parameters that the class does not name.
    values.set(jsonName, member === undefined ? sent : readSent(member, sent));
  }
  dto.assign(instance, values);
  for (const { name, isTransformed, schema } of dto.assigned.values()) {
    const { [name]: value } = instance;
    if (isTransformed && typeof value === 'string') instance[name] = convertText(schema, value);
  }
}

/** Only the transform of a list gets the texts of a parameter that is given more than once. */
function readSent(member: Member, sent: string | string[]): unknown {
  if (typeof sent === 'string') return readText(member, sent);
  const isTakenByTransform = member.isTransformed && member.isList;
  return isTakenByTransform ? sent.map((text) => readText(member, text)) : GIVEN_TWICE;
}

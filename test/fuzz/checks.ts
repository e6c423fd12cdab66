import { getStatus } from '../../src/platform/errors/error-catalogue.js';
import type { HttpAnswer } from '../support/http/answer.js';
import type { HttpRequest } from '../support/http/request.js';
import type { ApiDocument, DocumentedOperation } from './api-document.js';
import type { Verdict } from './body.arbitrary.js';
import { conformanceFaults, isError, parseJson, readMediaType } from './conformance.js';
import { normalizeText } from './formats.js';
import { numbersIn, readExactly } from './json-text.js';
import { canonicalText, type Entry, type StoreModel } from './store-model.js';

/** The expected answer, once the stored items are known. */
export type Wanted =
  /** The Error shape with one of these codes; the message has these names. */
  | {
      readonly kind: 'error';
      readonly errors: readonly number[];
      readonly names?: readonly string[];
    }
  /** 204, and the methods of the path. */
  | { readonly kind: 'methods' }
  /** A success, whose answer may show the members of this text; or one of these errors. */
  | { readonly kind: 'written'; readonly text: string; readonly errors: readonly number[] }
  | { readonly kind: 'removed'; readonly errors: readonly number[] }
  | { readonly kind: 'stored' | 'unmodified'; readonly entry: Entry }
  /** These items, in this order, and whether more follow; undefined if unknown. */
  | {
      readonly kind: 'listed';
      readonly query: ReadonlyMap<string, string>;
      readonly exactly: { readonly paths: readonly string[]; readonly next?: string } | undefined;
    }
  /** A success, or one of these documented statuses, depending on the stored items. */
  | { readonly kind: 'any'; readonly statuses: readonly number[] };

/** One request and its answer, with the expected answer. */
export interface Judged {
  readonly request: HttpRequest;
  readonly answer: HttpAnswer;
  readonly operation: DocumentedOperation | undefined;
  readonly wanted: Wanted;
  readonly verdict: Verdict | undefined;
  readonly model: StoreModel | undefined;
}

const CHALLENGES = new Map([
  [40100, 'Bearer realm="plant-store"'],
  [40101, 'Bearer realm="plant-store", error="invalid_token"'],
]);
const PATH_ERRORS = [40000, 40400];

/** Lists the faults of an answer, each with the name of the check that found it. */
export function findFaults(judged: Judged, document: ApiDocument): string[] {
  const { wanted } = judged;
  const isElsewhere =
    wanted.kind === 'error' && wanted.errors.some((one) => PATH_ERRORS.includes(one));
  const operation =
    isElsewhere || judged.operation === undefined
      ? undefined
      : document.operation(judged.request.method, judged.request.target);
  const faults = Object.entries(CHECKS).flatMap(([name, check]) => {
    const fault = check(judged);
    return fault === false ? [] : [`${name}: ${fault}`];
  });
  return [...conformanceFaults({ ...judged, operation }, document), ...faults];
}

function toStatus(error: number): number {
  return getStatus({ error });
}

/** The status of a success. */
function findSuccess(operation: DocumentedOperation | undefined): number {
  const successes = [...(operation?.responses.keys() ?? [])].filter((status) => status < 300);
  return Math.min(...successes);
}

const CHECKS: Readonly<Record<string, (judged: Judged) => string | false>> = {
  negative_data_rejection: ({ wanted, answer }) =>
    wanted.kind === 'error' &&
    wanted.errors.some((one) => toStatus(one) === 400) &&
    answer.status < 400 &&
    `a request with a flaw was answered ${answer.status}`,

  positive_data_acceptance: ({ wanted, answer }) =>
    wanted.kind !== 'error' &&
    !listStatuses(wanted, undefined).includes(answer.status) &&
    [400, 413, 415].includes(answer.status) &&
    `a request without a flaw was answered ${answer.status}`,

  /** The verdict of the schema and that of the writer must agree. */
  schema_and_text_agree: (judged) => {
    const isGood = schemaSays(judged);
    const kind = judged.verdict?.kind ?? '';
    if (isGood === undefined || isGood === (kind === 'good')) return false;
    return `the schema says ${isGood ? 'valid' : 'invalid'}, the text is ${kind}`;
  },

  ignored_auth: ({ wanted, answer }) =>
    wanted.kind === 'error' &&
    wanted.errors.some((one) => CHALLENGES.has(one)) &&
    answer.status !== 401 &&
    `a request without a good token was answered ${answer.status}`,

  unsupported_method: ({ wanted, answer }) =>
    wanted.kind === 'error' &&
    wanted.errors.includes(40500) &&
    (answer.status !== 405 || answer.headers.allow === undefined) &&
    `an undocumented method was answered ${answer.status}, Allow: ${answer.headers.allow ?? ''}`,

  right_status: ({ wanted, answer, operation }) => {
    const right = listStatuses(wanted, operation);
    if (right.includes(answer.status)) return false;
    return `the status is ${answer.status}, not ${right.join(' or ')}`;
  },

  right_error: ({ request, wanted, answer }) => {
    const errors = 'errors' in wanted ? wanted.errors : [];
    if (request.method === 'HEAD' || answer.status < 400 || errors.length === 0) return false;
    const body = parseJson(answer);
    if (!isError(body)) return 'the body is not of the Error shape and nothing else';
    if (readMediaType(answer) !== 'application/json')
      return `the Content-Type is ${readMediaType(answer)}`;
    if (!errors.includes(body.error))
      return `the error is ${body.error}, not ${errors.join(' or ')}`;
    const names = wanted.kind === 'error' ? (wanted.names ?? []) : [];
    const unnamed = names.find((name) => !new RegExp(`\\b${name}\\b`).test(body.message));
    return unnamed !== undefined && `the message does not name ${unnamed}: ${body.message}`;
  },

  right_headers: ({ wanted, answer: { status, headers } }) => {
    if (wanted.kind === 'methods') return headers.allow === undefined && 'there is no Allow';
    const [error = 0] = wanted.kind === 'error' ? wanted.errors : [];
    const right = status < 400 ? undefined : CHALLENGES.get(error);
    const challenge = headers['www-authenticate'];
    return challenge !== right && `WWW-Authenticate is ${challenge ?? 'missing'}`;
  },

  right_body: ({ wanted, answer, operation, model }) => {
    if (wanted.kind !== 'written' || answer.status >= 300 || model === undefined) return false;
    const shown = operation?.responses.get(answer.status)?.members ?? [];
    const right = Object.entries(JSON.parse(wanted.text) as object).filter(([name]) =>
      shown.includes(name),
    );
    const body = exactlyRead(answer);
    const isRight = model.exactText(body ?? {}) === canonicalText(Object.fromEntries(right));
    return !isRight && `the body is not exactly ${JSON.stringify(right)}`;
  },

  right_stored: ({ request, wanted, answer, model }) => {
    if (request.method === 'HEAD' || model === undefined) return false;
    if (wanted.kind === 'stored') {
      const isRight = model.exactText(exactlyRead(answer) ?? {}) === wanted.entry.text;
      return !isRight && `the body is not what is stored at ${request.target}`;
    }
    return wanted.kind === 'listed' && answer.status < 300 && listFault(wanted, answer, model);
  },

  right_etag: ({ wanted, answer, operation }) => {
    const { etag } = answer.headers;
    const isRead = wanted.kind === 'stored' || wanted.kind === 'unmodified';
    const documented = operation?.responses.get(answer.status)?.headers.has('etag') === true;
    if (!isRead || !documented) return etag !== undefined && `the ETag is ${etag}`;
    if (!/^"[!#-~]*"$/.test(etag ?? '')) return `the ETag is ${etag ?? 'missing'}`;
    if (etag === wanted.entry.formerEtag) return 'the ETag is that of what was there before';
    const right = wanted.entry.etag ?? etag;
    return etag !== right && `the ETag is ${etag ?? ''}, not ${right ?? ''}`;
  },

  right_link: ({ request, wanted, answer }) => {
    if (wanted.kind !== 'listed') return false;
    const { exactly, query } = wanted;
    const { link } = answer.headers;
    if (link === undefined) return exactly?.next !== undefined && 'Link is missing';
    const { pathname, searchParams } = new URL(readNextPage(answer) ?? '', 'http://a');
    const given = Object.fromEntries(searchParams);
    const after = exactly === undefined ? given.after : exactly.next;
    const right: Record<string, unknown> = { ...Object.fromEntries(query), after };
    const isRight =
      after !== undefined &&
      request.target.split('?')[0] === pathname &&
      Object.entries(right).every(([name, value]) => given[name] === value) &&
      Object.keys(given).every((name) => name in right || name === 'limit');
    return !isRight && `Link is ${link}`;
  },
};

/** The target of the next page; undefined when there is none. */
export function readNextPage({ headers: { link = '' } }: HttpAnswer): string | undefined {
  return /^<([^<>]*)>; rel="next"$/.exec(link)?.[1];
}

function listStatuses(wanted: Wanted, operation: DocumentedOperation | undefined): number[] {
  switch (wanted.kind) {
    case 'error':
      return wanted.errors.map(toStatus);
    case 'methods':
      return [204];
    case 'unmodified':
      return [304];
    case 'stored':
    case 'listed':
      return [200];
    case 'written':
    case 'removed':
      return [findSuccess(operation), ...wanted.errors.map(toStatus)];
    case 'any':
      return [findSuccess(operation), ...wanted.statuses];
  }
}

/** Describes the first fault of the items of a page. */
function listFault(
  { query, exactly }: Extract<Wanted, { kind: 'listed' }>,
  answer: HttpAnswer,
  model: StoreModel,
): string | false {
  const body = exactlyRead(answer);
  if (!Array.isArray(body)) return 'the page is no array';
  const items = body as readonly Readonly<Record<string, unknown>>[];
  const paths = items.map((item) => writeItemPath(item, model));
  if (exactly !== undefined && paths.join() !== exactly.paths.join()) {
    return `the page is not exactly ${exactly.paths.join()}, but ${paths.join()}`;
  }
  const strange = items.findIndex(
    (item, index) => model.get(paths[index] ?? '')?.text !== model.exactText(item),
  );
  if (strange !== -1) return `the page has ${paths[strange] ?? ''}, which is stored otherwise`;
  const filters = [...query].filter(([name]) => model.collection.members.includes(name));
  for (const [name, value] of filters) {
    const other = items.find((item) => !startsWith(item[name], value));
    if (other !== undefined)
      return `the page has ${canonicalText(other)}, whose ${name} is another`;
  }
  if (filters.length === 0 || answer.headers.link !== undefined) return false;
  const missed = [...model.paths].find((path) => {
    const entry = model.get(path);
    const content = entry && model.readContent(entry);
    return (
      !paths.includes(path) &&
      filters.every(
        ([name, value]) => textIn(content?.[name]) === writtenLike(content?.[name], value),
      )
    );
  });
  return missed !== undefined && items.length < readLimit(query) && `the page lacks ${missed}`;
}

function readLimit(query: ReadonlyMap<string, string>): number {
  return Number(query.get('limit') ?? 100);
}

/** A filter may match the beginning of a text, ignoring case. */
function startsWith(member: unknown, value: string): boolean {
  const text = textIn(member);
  if (text === undefined) return false;
  if (isNumber(member)) return text === writtenLike(member, value);
  return text.toLowerCase().startsWith(normalizeText(value).toLowerCase());
}

function isNumber(member: unknown): boolean {
  return typeof member === 'number' || (typeof member === 'string' && /^-?\d+n$/.test(member));
}

/**
 * Writes a value of a query in the canonical spelling of such a member: 1.50 is 1.5 as a number.
 */
function writtenLike(member: unknown, value: string): string | undefined {
  const isNumeric = isNumber(member) && /^-?\d+(\.\d+)?$/.test(value);
  return isNumeric ? textIn(readExactly(value)) : normalizeText(value);
}

/** Writes a member as in a query. Integers were read with an n at the end. */
function textIn(member: unknown): string | undefined {
  if (typeof member === 'string') return member.replace(/^(-?\d+)n$/, '$1');
  return member === undefined ? undefined : JSON.stringify(member);
}

/** The path of an item of a page. */
export function writeItemPath(item: Readonly<Record<string, unknown>>, model: StoreModel): string {
  return model.collection.itemPath.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(textIn(item[name]) ?? ''),
  );
}

function exactlyRead({ body }: HttpAnswer): unknown {
  try {
    return readExactly(body);
  } catch {
    return undefined;
  }
}

/**
 * Whether the body is valid by the served schema. Undefined if a schema cannot tell: the answer
 * depends on something else, or the body is not JSON, gives a member twice, or has a number that
 * JSON.parse rounds.
 */
function schemaSays({ request: { body }, operation, verdict }: Judged): boolean | undefined {
  if (verdict === undefined || verdict.kind === 'unreadable') return undefined;
  if (verdict.kind === 'invalid' && verdict.isRepeated) return undefined;
  const text = body.toString();
  if (numbersIn(text).some((number) => /[.eE]|\d{16}/.test(number))) return undefined;
  // The document says of these in words that they are refused.
  if (/\\u[dD][89a-fA-F]/.test(text)) return undefined;
  return operation?.takes?.(JSON.parse(text));
}

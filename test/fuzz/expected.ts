import type { NewPlant, Verdict } from './body.js';
import type { Condition } from './conditions.js';
import type { HttpRequest } from './http-request.js';
import type { ListQuery } from './plants-model.js';
import type { WrittenQuery } from './queries.js';

/** What the documents say a request must be answered with. */
export type Expected =
  /** 200, or one of the conflicts if the id is in use. */
  | { readonly kind: 'create'; readonly plant: NewPlant }
  /** What depends on whether the plant is there, and how it is. */
  | { readonly kind: 'read' | 'remove'; readonly id: bigint; readonly conditions: Conditions }
  | { readonly kind: 'replace'; readonly plant: NewPlant; readonly conditions: Conditions }
  | { readonly kind: 'list'; readonly query: ListQuery }
  /** The Error shape; the message names these members. */
  | { readonly kind: 'error'; readonly error: number; readonly names?: readonly string[] }
  | { readonly kind: 'options'; readonly allow: string }
  | { readonly kind: 'page'; readonly status: number };

type Conditions = readonly Condition[];

/** A request with the answer it must get. */
export interface Probe {
  readonly request: HttpRequest;
  readonly expected: Expected;
  /** The body's verdict, when the body is what the answer depends on. */
  readonly verdict?: Verdict;
}

/** Facts of a request that its maker knows. */
export interface Facts {
  readonly path: 'plants' | 'unknown' | 'undecodable' | KnownPage | PlantPath;
  readonly token: 'good' | 'missing' | 'refused';
  readonly isJsonType: boolean;
  readonly isIdentity: boolean;
  /** Of the body, as one of a POST or, on the path of a plant, of a PUT. */
  readonly verdict: Verdict;
  /** What a GET of /plants asks for: the first page where it is left out. */
  readonly query?: WrittenQuery['meaning'] | undefined;
  readonly conditions?: Conditions;
}

/** A path that is there to be read, and the status of reading it. */
export interface KnownPage {
  readonly page: string;
  readonly status: number;
}

/** The path of a plant; undefined when its id is not spelled as an int64 is. */
export interface PlantPath {
  readonly id: bigint | undefined;
}

export const BODY_LIMIT = 102_400;

const PLANTS_METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST'];
const PLANT_METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PUT'];

/** The table of the documents: which answer a request gets, the first that applies. */
export function probeOf(request: HttpRequest, facts: Facts): Probe {
  const { path } = facts;
  if (path === 'undecodable') return { request, expected: error(40000) };
  if (path === 'unknown') return { request, expected: error(40400) };
  if (path === 'plants') return plantsProbe(request, facts);
  return 'page' in path
    ? { request, expected: pageExpected(request.method, path) }
    : plantProbe(request, facts, path);
}

function plantsProbe(request: HttpRequest, facts: Facts): Probe {
  const refused = methodOrToken(request, facts, PLANTS_METHODS);
  if (refused !== undefined) return { request, expected: refused };
  if (request.method !== 'POST') {
    const { query = { limit: 100 } } = facts;
    const expected: Expected =
      'names' in query ? { ...error(40003), names: query.names } : { kind: 'list', query };
    return { request, expected };
  }
  const { verdict } = facts;
  const refusal = bodyRefusal(request, facts);
  if (refusal !== undefined) return { request, expected: error(refusal) };
  const expected = bodyError(verdict) ?? { kind: 'create', plant: plantOf(verdict) };
  return { request, verdict, expected };
}

function plantProbe(request: HttpRequest, facts: Facts, { id }: PlantPath): Probe {
  const refused = methodOrToken(request, facts, PLANT_METHODS);
  if (refused !== undefined) return { request, expected: refused };
  if (id === undefined) return { request, expected: { ...error(40003), names: ['id'] } };
  const { conditions = [], verdict } = facts;
  if (request.method === 'DELETE') return { request, expected: { kind: 'remove', id, conditions } };
  if (request.method !== 'PUT') return { request, expected: { kind: 'read', id, conditions } };
  const refusal = bodyRefusal(request, facts);
  if (refusal !== undefined) return { request, expected: error(refusal) };
  const plant = { ...plantOf(verdict), id };
  return {
    request,
    verdict,
    expected: bodyError(verdict) ?? { kind: 'replace', plant, conditions },
  };
}

function pageExpected(method: string, { status }: KnownPage): Expected {
  if (method === 'OPTIONS') return { kind: 'options', allow: 'GET, HEAD, OPTIONS' };
  return method === 'GET' || method === 'HEAD' ? { kind: 'page', status } : error(40500);
}

function methodOrToken(
  { method }: HttpRequest,
  { token }: Facts,
  methods: readonly string[],
): Expected | undefined {
  if (method === 'OPTIONS') return { kind: 'options', allow: methods.join(', ') };
  if (!methods.includes(method)) return error(40500);
  if (token === 'missing') return error(40100);
  if (token === 'refused') return error(40101);
  return undefined;
}

/** What is looked at before the text of the body. */
function bodyRefusal({ framing, body }: HttpRequest, facts: Facts): number | undefined {
  if (framing === 'none' || body.length === 0) return 40001;
  if (!facts.isJsonType || !facts.isIdentity) return 41500;
  if (body.length > BODY_LIMIT) return 41300;
  return undefined;
}

function bodyError(verdict: Verdict): Expected | undefined {
  if (verdict.kind === 'unreadable') return error(40001);
  return verdict.kind === 'invalid' ? { ...error(40002), names: verdict.faults } : undefined;
}

function plantOf(verdict: Verdict): NewPlant {
  return verdict.kind === 'plant' ? verdict.plant : { id: 0n, name: '' };
}

function error(code: number): { kind: 'error'; error: number } {
  return { kind: 'error', error: code };
}

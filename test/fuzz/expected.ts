import type { NewPlant, Verdict } from './body.js';
import type { HttpRequest } from './http-request.js';

/** What the documents say a request must be answered with. */
export type Expected =
  /** 200, or one of the conflicts if the id is in use. */
  | { readonly kind: 'create'; readonly plant: NewPlant }
  /** The Error shape; the message names these members. */
  | { readonly kind: 'error'; readonly error: number; readonly names?: readonly string[] }
  | { readonly kind: 'options'; readonly allow: string }
  | { readonly kind: 'page'; readonly status: number };

/** A request with the answer it must get. */
export interface Probe {
  readonly request: HttpRequest;
  readonly expected: Expected;
  /** The body's verdict, when the body is what the answer depends on. */
  readonly verdict?: Verdict;
}

/** Facts of a request that its maker knows. */
export interface Facts {
  readonly path: 'plants' | 'unknown' | 'undecodable' | KnownPage;
  readonly token: 'good' | 'missing' | 'refused';
  readonly isJsonType: boolean;
  readonly isIdentity: boolean;
  readonly verdict: Verdict;
}

/** A path that is there to be read, and the status of reading it. */
export interface KnownPage {
  readonly page: string;
  readonly status: number;
}

export const BODY_LIMIT = 102_400;

/** The table of the documents: which answer a request gets, the first that applies. */
export function probeOf(request: HttpRequest, facts: Facts): Probe {
  const { path, verdict } = facts;
  if (path === 'undecodable') return { request, expected: error(40000) };
  if (path === 'unknown') return { request, expected: error(40400) };
  if (typeof path === 'object') return { request, expected: pageExpected(request.method, path) };
  if (request.method === 'OPTIONS') {
    return { request, expected: { kind: 'options', allow: 'OPTIONS, POST' } };
  }
  if (request.method !== 'POST') return { request, expected: error(40500) };
  const refused = refusalOf(request, facts);
  if (refused !== undefined) return { request, expected: error(refused) };
  return { request, verdict, expected: bodyExpected(verdict) };
}

function pageExpected(method: string, { status }: KnownPage): Expected {
  if (method === 'OPTIONS') return { kind: 'options', allow: 'GET, HEAD, OPTIONS' };
  return method === 'GET' || method === 'HEAD' ? { kind: 'page', status } : error(40500);
}

/** What is looked at before the text of the body. */
function refusalOf({ framing, body }: HttpRequest, facts: Facts): number | undefined {
  if (facts.token === 'missing') return 40100;
  if (facts.token === 'refused') return 40101;
  if (framing === 'none' || body.length === 0) return 40001;
  if (!facts.isJsonType || !facts.isIdentity) return 41500;
  if (body.length > BODY_LIMIT) return 41300;
  return undefined;
}

function bodyExpected(verdict: Verdict): Expected {
  switch (verdict.kind) {
    case 'plant':
      return { kind: 'create', plant: verdict.plant };
    case 'unreadable':
      return error(40001);
    case 'invalid':
      return { kind: 'error', error: 40002, names: verdict.faults };
  }
}

function error(code: number): Expected {
  return { kind: 'error', error: code };
}

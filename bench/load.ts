import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Request, TOKEN } from './operations.js';

/** The ids of a load. Each run continues where the last one ended. */
export interface Ids {
  /** The next id, or its place among the rows. */
  next: number;
  /** Ids from 1 to this one in a scattered order; 0 for ascending ids. */
  readonly rows: number;
}

export interface Tally {
  /** Requests, or lines of an import, with the expected answer. */
  readonly acknowledged: number;
  /** Requests with another answer. */
  readonly refused: number;
  /** Requests with an unknown outcome. */
  readonly unanswered: number;
  /** Acknowledged requests per second. */
  readonly rate: number;
  /** How long half of the answers, and 99 of 100 answers, took at most; 0 for imports. */
  readonly medianMs: number;
  readonly p99Ms: number;
}

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));
/** The lines of one import. */
const LINES = 200_000;

/**
 * Sends requests as fast as the answers arrive (a closed loop) for some seconds. At their end, each
 * connection still waits for the answer to one request.
 */
export async function send(
  origin: string,
  { method, path, body = '', header = body && 'Content-Type: application/json' }: Request,
  ids: Ids,
  connections: number,
  seconds: number,
): Promise<Tally> {
  const { stdout } = await promisify(execFile)('wrk', [
    '--threads=1',
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    `--script=${SCRIPT}`,
    origin,
    ...['--', ids.next, ids.rows, TOKEN, method, path, body, header].map(String),
  ]);
  const line = stdout.trim().split('\n').at(-1) ?? '';
  const [issued = 0, answered = 0, refused = 0, us = 0, medianUs = 0, p99Us = 0] = JSON.parse(
    line,
  ) as number[];
  ids.next += issued + 1;
  const acknowledged = answered - refused;
  return {
    acknowledged,
    refused,
    unanswered: issued - answered,
    rate: (acknowledged * 1e6) / us,
    medianMs: medianUs / 1_000,
    p99Ms: p99Us / 1_000,
  };
}

/** Imports new plants in one request, however long it takes. */
export async function sendImport(
  origin: string,
  { path, body = '' }: Request,
  ids: Ids,
): Promise<Tally> {
  const lines = Array.from({ length: LINES }, () => body.replace('{id}', String(ids.next++)));
  const began = performance.now();
  const answer = await fetch(new URL(path, origin), {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' },
    body: lines.join(''),
  });
  const { created: acknowledged = 0 } = (await answer.json()) as { created?: number };
  const rate = (acknowledged * 1_000) / (performance.now() - began);
  const refused = LINES - acknowledged;
  return { acknowledged, refused, unanswered: 0, rate, medianMs: 0, p99Ms: 0 };
}

import { spawnSync } from 'node:child_process';
import type { Ids } from './ids.js';
import { loadWithAutocannon } from './load-autocannon.js';
import { loadWithWrk } from './load-wrk.js';
import type { Operation } from './operations.js';

export interface LoadOptions {
  /** Only its origin counts: the path is that of the operation. */
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly ids: Ids;
  readonly operation: Operation;
}

export interface Counts {
  /** Requests with the expected answer. */
  readonly acknowledged: number;
  /** Requests with another answer. */
  readonly refused: number;
  /** Requests with an unknown outcome. */
  readonly unanswered: number;
}

export interface Tally extends Counts {
  /** Acknowledged requests per second. */
  readonly rate: number;
}

/**
 * Sends requests as fast as the answers arrive (a closed loop) for some seconds, and then waits for
 * the outstanding answers.
 */
export type Load = (options: LoadOptions) => Promise<Tally>;

export const LOAD_NAMES = ['wrk', 'autocannon'] as const;
export type LoadName = (typeof LOAD_NAMES)[number];

export const LOADS: Readonly<Record<LoadName, Load>> = {
  wrk: loadWithWrk,
  autocannon: loadWithAutocannon,
};

export function findLoad(): LoadName {
  return spawnSync('wrk', ['-v']).error === undefined ? 'wrk' : 'autocannon';
}

import { spawnSync } from 'node:child_process';
import { loadWithAutocannon } from './load-autocannon.mjs';
import { loadWithWrk } from './load-wrk.mjs';

/**
 * Sends requests as fast as the answers arrive (a closed loop) for some seconds, and then waits for
 * the outstanding answers.
 *
 * @typedef {object} LoadOptions
 * @property {string} url whose path is the operation's, whatever its own is
 * @property {string} token
 * @property {number} connections
 * @property {number} seconds
 * @property {import('./ids.mjs').Ids} ids
 * @property {import('./operations.mjs').Operation} [operation] creates by default
 *
 * @typedef {object} Tally
 * @property {number} acknowledged requests with the expected answer
 * @property {number} refused requests with another answer
 * @property {number} unanswered requests with an unknown outcome
 * @property {number} rate acknowledged requests per second
 *
 * @typedef {(options: LoadOptions) => Promise<Tally>} Load
 */

/** @type {Record<string, Load>} */
const LOADS = { wrk: loadWithWrk, autocannon: loadWithAutocannon };
export const LOAD_NAMES = Object.keys(LOADS);

export function defaultLoad() {
  return spawnSync('wrk', ['-v']).error === undefined ? 'wrk' : 'autocannon';
}

/** @returns {Load} */
export const getLoad = (name) => LOADS[name];

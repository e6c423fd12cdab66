import { spawnSync } from 'node:child_process';
import { loadWithAutocannon } from './load-autocannon.mjs';
import { loadWithWrk } from './load-wrk.mjs';

/**
 * Makes requests as fast as the answers come (a closed loop), for some seconds, and then waits for
 * the answers that are out.
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
 * @property {number} acknowledged requests that were answered as they should
 * @property {number} refused requests that were answered otherwise
 * @property {number} unanswered requests of which nobody knows what became
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
export const loadNamed = (name) => LOADS[name];

import { OPERATIONS } from './operations.mjs';

/**
 * The ids of a load, one for each request. Each run of a load continues where the last one ended.
 *
 * @typedef {object} Ids
 * @property {'ascending' | 'scattered'} order
 * @property {number} next the next ascending id, or the place of the next scattered one
 * @property {number} [rows] scattered ids are from 1 to this number, each once before any is
 *   repeated
 */

/** @returns {Ids} */
export function freshIds(order = 'ascending', next = 1) {
  return { order, next };
}

/** A prime, so that the stride reaches every row unless the number of rows is its multiple. */
const STRIDE = 611_953;

/** Makes the ids of a table that was filled with this many rows. */
export function scatteredIds(rows, next = 0) {
  return { order: 'scattered', next, rows };
}

/** Far enough from each other not to overlap. */
const APART = 1e12;

/** Splits ids for loads that run at the same time. */
export function splitIds(ids, count) {
  const apart = ids.order === 'scattered' ? Math.floor(ids.rows / 2 / count) : APART;
  const others = Array.from({ length: count - 1 }, (_, index) => ({
    ...ids,
    next: ids.next + (index + 1) * apart,
  }));
  return [ids, ...others];
}

/** Takes the next id, as JSON text. */
export function takeId(ids) {
  const number = ids.next++;
  return String(ids.order === 'scattered' ? ((number * STRIDE) % ids.rows) + 1 : number);
}

/** @param {string} id */
export function plantBody(id) {
  return OPERATIONS.create.body.replace('{id}', id);
}

/** The answer to a create. */
export const PLANT = { name: 'Monstera deliciosa', tag: 'indoor' };

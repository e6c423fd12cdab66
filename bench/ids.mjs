import { OPERATIONS } from './operations.mjs';

/**
 * Ids of which a load takes one for each request: every run of a load takes up where the last one
 * ended.
 *
 * @typedef {object} Ids
 * @property {'ascending' | 'scattered'} order
 * @property {number} next the next ascending id, or the place of
 *   the next scattered one
 * @property {number} [rows] scattered ids are of 1 to this, each once before any comes again
 */

/** @returns {Ids} */
export function freshIds(order = 'ascending', next = 1) {
  return { order, next };
}

/** A prime, so that any number of rows that is not its multiple is met in full. */
const STRIDE = 611_953;

/** The ids of a table that was filled with so many rows. */
export function scatteredIds(rows, next = 0) {
  return { order: 'scattered', next, rows };
}

/** So far from each other that they do not meet. */
const APART = 1e12;

/** The same ids and further ones, for loads at the same time. */
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

/** What a create is answered with. */
export const PLANT = { name: 'Monstera deliciosa', tag: 'indoor' };

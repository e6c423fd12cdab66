import { randomBytes } from 'node:crypto';

/**
 * Fresh ids: every run of a load takes up where the last one ended.
 *
 * @typedef {object} Ids
 * @property {'ascending' | 'random'} order
 * @property {number} next the next ascending id, or the seed of the next random ones
 */

/** @returns {Ids} */
export function freshIds(order = 'ascending', next = 1) {
  return { order, next };
}

/** So far from each other that they do not meet. */
const APART = 1e12;

/** The same ids and further ones, for loads at the same time. */
export function splitIds(ids, count) {
  const others = Array.from({ length: count - 1 }, (_, index) =>
    freshIds(ids.order, ids.next + (index + 1) * APART),
  );
  return [ids, ...others];
}

/** Takes the next id, as JSON text: a random int64 is beyond what a JavaScript number holds. */
export function takeId(ids) {
  const number = ids.next++;
  return ids.order === 'random' ? randomBytes(8).readBigInt64LE().toString() : String(number);
}

/** @param {string} id */
export function plantBody(id) {
  return `{"id":${id},"name":"Monstera deliciosa","tag":"indoor"}`;
}

export const PLANT = { name: 'Monstera deliciosa', tag: 'indoor' };

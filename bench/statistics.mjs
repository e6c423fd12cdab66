/**
 * @typedef {object} Summary
 * @property {number} median
 * @property {number} min
 * @property {number} max
 */

/** @param {number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @returns {Summary} */
export function summarize(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

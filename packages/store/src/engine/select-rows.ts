import type { PageSql } from './engine.js';

/**
 * Writes the SELECT of rows of a page.
 *
 * @param start the conditions for where the page begins
 * @param equalKeys how many of the first sort keys have the same value in all of these rows
 */
export function selectRows(
  { table, conditions, keys, isDescending }: PageSql,
  selected: string,
  start: readonly string[],
  equalKeys = 0,
): string {
  // An engine may search an index only by the first condition. The start of a page is narrower than a
  // prefix.
  const where = [...start, ...conditions].join(' AND ') || 'true';
  const sorted = keys.slice(equalKeys).map((key) => (isDescending ? `${key} DESC` : key));
  return `SELECT ${selected} FROM ${table} WHERE ${where} ORDER BY ${sorted.join(', ')}`;
}

/** All printed tables, in their order. */
export const printedTables = [];

/**
 * Prints a plain table: the first column to the left, the others to the right.
 *
 * @param {string[]} head
 * @param {string[][]} rows
 */
export function printTable(title, head, rows) {
  printedTables.push({ title, head, rows });
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column].length)),
  );
  const line = (row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
      )
      .join('  ')
      .trimEnd();
  console.log(['', title, '', line(head), ...rows.map(line)].join('\n'));
}

const number = (value, digits) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const formatNumber = (value, digits = 0) => number(value, digits);

/** @param {import('./statistics.mjs').Summary} summary */
export const formatRange = ({ min, max }, digits = 0) =>
  `${number(min, digits)} .. ${number(max, digits)}`;

import type { Summary } from './statistics.js';

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** All printed tables, in their order. */
export const printedTables: Table[] = [];

/** Prints a plain table: the first column to the left, the others to the right. */
export function printTable(title: string, head: Table['head'], rows: Table['rows']): void {
  printedTables.push({ title, head, rows });
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const pad = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column === 0 ? cell.padEnd(width) : cell.padStart(width);
  };
  const line = (row: readonly string[]): string => row.map(pad).join('  ').trimEnd();
  console.log(['', title, '', line(head), ...rows.map(line)].join('\n'));
}

export function formatNumber(value: number, digits = 0): string {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', options);
}

export function formatRange({ min, max }: Summary, digits = 0): string {
  return `${formatNumber(min, digits)} .. ${formatNumber(max, digits)}`;
}

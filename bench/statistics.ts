export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

export function formatNumber(value: number, digits = 0): string {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', options);
}

/**
 * Formats the median of some values, and the smallest and the largest of them. Of six values and
 * more, the true median is between these in more than 95 of 100 measurements.
 */
export function formatRange(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const [middle, from, to] = [median(values), least, most].map((value) => formatNumber(value, 2));
  return `${middle ?? ''} (${from ?? ''} to ${to ?? ''})`;
}

/** Prints a table in Markdown. */
export function printTable(title: string, head: string[], rows: string[][]): void {
  const all = [head, head.map((_, column) => (column === 0 ? '---' : '--:')), ...rows];
  const lines = all.map((row) => `| ${row.join(' | ')} |`);
  console.log(['', `${title}:`, '', ...lines].join('\n'));
}

export interface Summary {
  readonly median: number;
  /** The bounds of the 95 % interval of the median. */
  readonly low: number;
  readonly high: number;
}

export function median(values: readonly number[]): number {
  const { length } = values;
  const middle = values.toSorted((a, b) => a - b).slice((length - 1) >> 1, (length >> 1) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/**
 * Computes the median and its interval between two of the values, which holds the true median in at
 * least 95 of 100 measurements, however the values are distributed. With fewer than six values the
 * interval is that of all values, which holds less: 94 of 100 with five.
 */
export function summarize(values: readonly number[]): Summary {
  const { length } = values;
  const sorted = values.toSorted((a, b) => a - b);
  let outside = 0;
  // The chance that exactly this many values are below the true median.
  let chance = 0.5 ** length;
  let rank = 0;
  while (2 * (outside + chance) <= 0.05) {
    outside += chance;
    chance *= (length - rank) / (rank + 1);
    rank += 1;
  }
  const first = Math.max(0, rank - 1);
  return {
    median: median(values),
    low: sorted[first] ?? NaN,
    high: sorted[length - 1 - first] ?? NaN,
  };
}

export function formatNumber(value: number, digits = 0): string {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', options);
}

export function formatSummary({ median, low, high }: Summary, digits = 0): string {
  const [one, from, to] = [median, low, high].map((value) => formatNumber(value, digits));
  return `${one ?? ''} (${from ?? ''} to ${to ?? ''})`;
}

/** Prints a table in Markdown. */
export function printTable(title: string, head: string[], rows: string[][]): void {
  const all = [head, head.map((_, column) => (column === 0 ? '---' : '--:')), ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map(
    (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`,
  );
  console.log(['', `${title}:`, '', ...lines].join('\n'));
}

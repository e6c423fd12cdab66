export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function median(values: readonly number[]): number {
  const { length } = values;
  const middle = values.toSorted((a, b) => a - b).slice((length - 1) >> 1, (length >> 1) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

export function summarize(values: readonly number[]): Summary {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

interface Rated {
  readonly rate: number;
}

/** Summarizes the ratio of the rates of `first` to those of `runs`, round by round. */
export function summarizeRatio(first: readonly Rated[], runs: readonly Rated[]): Summary {
  return summarize(runs.map(({ rate }, round) => (first[round]?.rate ?? NaN) / rate));
}

export function sum<Key extends string>(
  list: readonly Readonly<Record<Key, number>>[],
  key: Key,
): number {
  return list.reduce((total, one) => total + one[key], 0);
}

/**
 * How often a line is shown at a terminal, and elsewhere, in milliseconds. Most work has ended before
 * the first one.
 */
const TERMINAL_MS = 1_000;
export const PIPE_MS = 10_000;

/** Some terminals do not say how wide they are. */
const USUAL_COLUMNS = 80;

const CLEAR_LINE = '\r\u001B[K';
const BYTES_PER_MB = 1_000_000;
const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SMALL_NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** How far some work is. */
export interface Progress {
  readonly done: number;
  /** The expected amount, which the work may exceed a little. */
  readonly total: number;
  readonly unit: 'bytes' | 'rows' | 'runs' | 'migrations';
}

/**
 * Shows on standard error how far some work is, at what rate, and about how long it will take: at a
 * terminal in one line, which is removed at the end, and elsewhere as a line every 10 seconds.
 *
 * @param title what the work does
 * @param read returns undefined as long as there is nothing to show
 * @param began the time of the beginning, if this is a part of the work
 */
export async function showProgress<Result>(
  title: string,
  read: () => Progress | undefined,
  work: Promise<Result>,
  began = performance.now(),
): Promise<Result> {
  const { stderr } = process;
  let lines = 0;
  const show = (): void => {
    const progress = read();
    if (progress === undefined) return;
    lines++;
    const line = `${title}: ${describeProgress(progress, (performance.now() - began) / 1_000)}`;
    // A longer line would be wrapped, and not be removed.
    stderr.write(
      stderr.isTTY
        ? CLEAR_LINE + line.slice(0, (stderr.columns || USUAL_COLUMNS) - 1)
        : `${line}\n`,
    );
  };
  const timer = setInterval(show, stderr.isTTY ? TERMINAL_MS : PIPE_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (lines > 0 && stderr.isTTY) stderr.write(CLEAR_LINE);
  }
}

/** @param seconds since the beginning */
export function describeProgress(progress: Progress, seconds: number): string {
  const isBytes = progress.unit === 'bytes';
  const unit = isBytes ? 'MB' : progress.unit;
  const [done, total] = [progress.done, progress.total].map((amount) =>
    isBytes ? amount / BYTES_PER_MB : amount,
  ) as [number, number];
  const amount = `${NUMBER.format(done)} of ${NUMBER.format(total)} ${unit}`;
  if (done === 0) return `${amount}, ${describeTime(seconds)} so far`;
  // Less than all, since the work has not ended.
  const percent = Math.min(99, Math.floor((100 * done) / total));
  const rate = done / seconds;
  const left = Math.max(0, total - done) / rate;
  const perSecond = (rate < 10 ? SMALL_NUMBER : NUMBER).format(rate);
  return `${percent} %, ${amount}, ${perSecond} per second, about ${describeTime(left)} left`;
}

function describeTime(seconds: number): string {
  return seconds < 100 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { describeProgress, PIPE_MS, type Progress, showProgress } from './progress.js';

describe('describeProgress', () => {
  it.each<[string, Progress, number, string]>([
    [
      'rows',
      { done: 250_000, total: 1_000_000, unit: 'rows' },
      5,
      '25 %, 250,000 of 1,000,000 rows, 50,000 per second, about 15 s left',
    ],
    [
      'bytes',
      { done: 1_500_000_000, total: 3e9, unit: 'bytes' },
      600,
      '50 %, 1,500 of 3,000 MB, 2.5 per second, about 10 min left',
    ],
    [
      'nothing done',
      { done: 0, total: 3, unit: 'migrations' },
      7.2,
      '0 of 3 migrations, 8 s so far',
    ],
    [
      'more than expected',
      { done: 11, total: 10, unit: 'runs' },
      11,
      '99 %, 11 of 10 runs, 1 per second, about 0 s left',
    ],
  ])('%s', (_, progress, seconds, line) => {
    expect(describeProgress(progress, seconds)).toBe(line);
  });
});

describe('showProgress', () => {
  const { isTTY } = process.stderr;
  let written: jest.SpiedFunction<typeof process.stderr.write>;

  beforeEach(() => {
    jest.useFakeTimers();
    written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  });

  afterEach(() => {
    jest.useRealTimers();
    written.mockRestore();
    process.stderr.isTTY = isTTY;
  });

  async function listLines(isTerminal: boolean, ms: number): Promise<unknown[]> {
    process.stderr.isTTY = isTerminal;
    process.stderr.columns = 30;
    let end = (): void => undefined;
    const read = (): Progress => ({ done: 1, total: 2, unit: 'rows' });
    const work = new Promise<void>((resolve) => (end = resolve));
    const shown = showProgress('Copying', read, work);
    jest.advanceTimersByTime(ms);
    end();
    await shown;
    return written.mock.calls.map(([line]) => line);
  }

  it('writes a line at intervals into a pipe', async () => {
    expect(await listLines(false, PIPE_MS - 1)).toEqual([]);
    expect(await listLines(false, 2 * PIPE_MS)).toEqual([
      'Copying: 50 %, 1 of 2 rows, 0.1 per second, about 10 s left\n',
      'Copying: 50 %, 1 of 2 rows, 0.1 per second, about 20 s left\n',
    ]);
  });

  it('rewrites one line at a terminal, and removes it', async () => {
    const lines = await listLines(true, 1_000);
    expect(lines).toEqual(['\r\u001B[KCopying: 50 %, 1 of 2 rows, 1', '\r\u001B[K']);
  });

  it('writes nothing for work that ends soon', async () => {
    expect(await listLines(true, 999)).toEqual([]);
  });

  it('passes a failure on', async () => {
    const failure = new Error('no');
    await expect(showProgress('Copying', () => undefined, Promise.reject(failure))).rejects.toBe(
      failure,
    );
  });
});

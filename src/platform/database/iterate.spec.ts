import { describe, expect, it, jest } from '@jest/globals';
import { iterate } from './iterate.js';

/** Iterates over the numbers of a list as texts. */
function count(numbers: number[], end: () => void): AsyncIterableIterator<string> {
  const left = [...numbers];
  return iterate(() => Promise.resolve(left.shift()?.toString()), end);
}

describe('iterate', () => {
  it('returns each item, then ends once', async () => {
    const end = jest.fn();
    const items = count([1, 2], end);
    const read: string[] = [];
    for await (const item of items) read.push(item);
    expect(read).toEqual(['1', '2']);
    expect(await items.next()).toEqual({ done: true, value: undefined });
    await items.return?.();
    expect(end).toHaveBeenCalledTimes(1);
  });

  it('ends once its consumer stops, and reads nothing more', async () => {
    const end = jest.fn();
    const items = count([1, 2], end);
    for await (const item of items) if (item === '1') break;
    expect(await items.next()).toEqual({ done: true, value: undefined });
    expect(end).toHaveBeenCalledTimes(1);
  });

  it('ends after an error', async () => {
    const end = jest.fn();
    const items = iterate(() => Promise.reject(new Error('gone')), end);
    await expect(items.next()).rejects.toThrow('gone');
    expect(end).toHaveBeenCalledTimes(1);
  });
});

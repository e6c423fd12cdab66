/**
 * Iterates over the texts that a function returns, until it returns undefined.
 *
 * Answers to slow clients use this instead of a generator. The variables of a generator would keep
 * the last item in memory while the client takes it, and while the next one waits for its turn. A
 * function that has returned keeps nothing. A generator that has not begun would also skip its
 * `finally`.
 *
 * @param end is called once: after the last item, after an error, or when the consumer stops
 * @example
 * ```ts
 * const lines = ['one\n', 'two\n'];
 * const pieces = iterate(() => Promise.resolve(lines.shift()));
 * ```
 */
export function iterate(
  readNext: () => Promise<string | undefined>,
  end?: () => unknown,
): AsyncIterableIterator<string, undefined> {
  let hasEnded = false;
  const finish = async (): Promise<IteratorReturnResult<undefined>> => {
    if (!hasEnded) {
      hasEnded = true;
      await end?.();
    }
    return { done: true, value: undefined };
  };
  return {
    async next() {
      if (hasEnded) return await finish();
      try {
        const value = await readNext();
        return value === undefined ? await finish() : { done: false, value };
      } catch (error) {
        await finish();
        throw error;
      }
    },
    return: finish,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

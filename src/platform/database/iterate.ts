/** Items that are read one after the other, each when its consumer asks for it. */
export interface Items<Item extends object | string> extends AsyncIterable<Item> {
  next(): Promise<IteratorResult<Item, undefined>>;
  /** Must be called when no more items are needed, also after the last one. */
  return(): Promise<IteratorReturnResult<undefined>>;
  [Symbol.asyncIterator](): this;
}

/**
 * Iterates over what a function returns, until it returns undefined.
 *
 * Answers to slow clients use this in place of a generator. The variables of a generator would keep
 * the last item in memory while the client takes it, and while the next one waits for its turn. A
 * function that has returned keeps nothing.
 *
 * @param end is called when the consumer needs no more items
 */
export function iterate<Item extends object | string>(
  readNext: () => Promise<Item | undefined>,
  end?: () => unknown,
): Items<Item> {
  return {
    async next() {
      const value = await readNext();
      return value === undefined ? { done: true, value } : { done: false, value };
    },
    async return() {
      await end?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * AsyncLocalStorage slows every promise before Node 24, so there the time limit of the lock is the only
 * guard.
 */
const isCheap = Number(process.versions.node.split('.')[0]) >= 24;
const transactions = isCheap ? new AsyncLocalStorage<{ isOver: boolean }>() : undefined;

/** Does the work of a transaction, and knows what is called from there. */
export async function trackTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  if (transactions === undefined) return await work();
  const transaction = { isOver: false };
  return await transactions.run(transaction, work).finally(() => (transaction.isOver = true));
}

/**
 * A statement that is not part of the transaction it is called from would wait for the end of that
 * transaction, which waits for it. Where this cannot be known, it is refused after its time limit.
 *
 * @throws Error
 */
export function assertOutsideTransaction(): void {
  if (transactions?.getStore()?.isOver === false) {
    throw new Error(
      "A statement inside a transaction must be part of it: use the transaction's manager, or run it after the transaction",
    );
  }
}

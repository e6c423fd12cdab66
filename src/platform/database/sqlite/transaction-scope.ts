import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Before Node 24, AsyncLocalStorage slows every promise. There, only the time limit of the write
 * lock ends such a wait.
 */
const isCheap = Number(process.versions.node.split('.')[0]) >= 24;
const transactions = isCheap ? new AsyncLocalStorage<{ isOver: boolean }>() : undefined;

/** Executes the work of a transaction, and tracks what is called from there. */
export async function trackTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  if (transactions === undefined) return await work();
  const transaction = { isOver: false };
  return await transactions.run(transaction, work).finally(() => (transaction.isOver = true));
}

/**
 * Refuses a statement that is called from within a transaction but is not part of it: each would
 * wait for the other. Before Node 24 this does nothing, and the statement is refused after its time
 * limit.
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

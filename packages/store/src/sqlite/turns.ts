import { StoreUnavailableError } from '../errors/store.errors.js';

/** For whom work is done. A batch serves many requests, a statement or transaction of a module one. */
export type Work = 'batch' | 'module';

/** Somebody whose turn it is. */
interface Holder {
  readonly work: Work;
  /** Where a module has taken the turn. */
  readonly origin: Error | undefined;
}

/**
 * A semaphore, whose permits are turns to write or to read: first come, first served. A caller waits
 * here, and not inside SQLite, where it would hold one of Node's threads. While batches wait, every
 * second turn is theirs.
 */
export class Turns {
  /** In the order in which their turns have begun: never more than `capacity`. */
  private readonly holders = new Set<Holder>();
  /**
   * The callers that wait, each by the function that begins its turn. None waits while a turn is
   * free.
   */
  private readonly waiting: Record<Work, (() => void)[]> = { batch: [], module: [] };

  /**
   * @param waitMs how long a caller waits for a turn, in milliseconds
   * @param capacity how many turns there are at a time
   */
  constructor(
    private readonly purpose: 'to write' | 'to read',
    private readonly waitMs: number,
    readonly capacity = 1,
  ) {}

  /**
   * Begins a turn as soon as one is free.
   *
   * @param origin where a module takes the turn, for the log
   * @param patience how long the caller waits, in milliseconds
   * @returns a function that ends the turn; further calls do nothing
   * @throws StoreUnavailableError when none is free in time
   */
  async take(work: Work, origin?: Error, patience = this.waitMs): Promise<() => void> {
    const holder: Holder = { work, origin };
    if (this.holders.size < this.capacity) this.holders.add(holder);
    else await this.wait(holder, patience);
    return () => this.end(holder);
  }

  private async wait(holder: Holder, patience: number): Promise<void> {
    const queue = this.waiting[holder.work];
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        this.holders.add(holder);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(begin), 1);
        reject(new StoreUnavailableError(new Error(this.describeTimeout())));
      }, patience);
      queue.push(begin);
    });
  }

  private end(holder: Holder): void {
    if (!this.holders.delete(holder)) return;
    const { batch, module } = this.waiting;
    const [next, other] = holder.work === 'batch' ? [module, batch] : [batch, module];
    const beginNext = next.shift() ?? other.shift();
    beginNext?.();
  }

  /** The text depends on the oldest turn only, so that the log can count equal refusals. */
  private describeTimeout(): string {
    const refusal = `No turn ${this.purpose} was free within ${this.waitMs} ms`;
    const [oldest] = this.holders;
    return oldest?.origin === undefined
      ? `${refusal}: a batch of rows has it`
      : `${refusal}. A statement inside a transaction must use the transaction's manager. The turn was taken at:\n${oldest.origin.stack ?? ''}`;
  }
}

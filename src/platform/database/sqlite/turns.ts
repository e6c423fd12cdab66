import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { StoreUnavailableError } from '../store-unavailable.error.js';

/** Kinds of writers. A batch serves many requests, a statement or transaction of a module one. */
export type Caller = 'batch' | 'module';

interface Turn {
  readonly caller: Caller;
  /** Where a module has taken it. */
  readonly origin: Error | undefined;
}

/**
 * Turns to write or to read, first come, first served. A caller waits here, and not inside SQLite,
 * where it would hold one of Node's threads. While batches wait, every second turn is theirs.
 */
export class Turns {
  private readonly current = new Set<Turn>();
  /** The callers that wait, each by the function that begins its turn. */
  private readonly waiting: Record<Caller, (() => void)[]> = { batch: [], module: [] };

  /** @param places how many turns there are at a time */
  constructor(
    private readonly purpose: 'to write' | 'to read',
    private readonly places = 1,
  ) {}

  /**
   * Begins a turn as soon as one is free.
   *
   * @param origin where a module takes the turn, for the log
   * @returns a function that ends the turn; further calls do nothing
   * @throws StoreUnavailableError when none is free within {@link WAIT_TIMEOUT_MS}
   */
  async take(caller: Caller, origin?: Error): Promise<() => void> {
    const turn: Turn = { caller, origin };
    if (this.current.size < this.places) this.current.add(turn);
    else await this.wait(turn);
    return () => this.end(turn);
  }

  private async wait(turn: Turn): Promise<void> {
    const queue = this.waiting[turn.caller];
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        this.current.add(turn);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(begin), 1);
        reject(new StoreUnavailableError(new Error(this.describeTimeout())));
      }, WAIT_TIMEOUT_MS);
      queue.push(begin);
    });
  }

  private end(turn: Turn): void {
    if (!this.current.delete(turn)) return;
    const { batch, module } = this.waiting;
    const isForModule = batch.length === 0 || (turn.caller === 'batch' && module.length > 0);
    const beginNext = (isForModule ? module : batch).shift();
    beginNext?.();
  }

  /** The text depends on the oldest turn only, so that the log can count equal refusals. */
  private describeTimeout(): string {
    const refusal = `No turn ${this.purpose} was free within ${WAIT_TIMEOUT_MS} ms`;
    const [oldest] = this.current;
    return oldest?.origin === undefined
      ? `${refusal}: a batch of rows has it`
      : `${refusal}. A statement inside a transaction must use the transaction's manager. The turn was taken at:\n${oldest.origin.stack ?? ''}`;
  }
}

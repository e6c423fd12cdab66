import type { TransactionTimer } from '../engine/transaction-timer.js';
import type { SqliteConnection } from './sqlite-connection.js';
import type { NextUse, Turn } from './sqlite-connections.js';

/** How often a statement that takes too long is interrupted until it ends, in milliseconds. */
const INTERRUPT_MS = 100;

/** A turn of a query runner with a time limit, after which its statement is interrupted. */
export class LimitedTurn {
  /** The reason for the interrupt. */
  expired: Error | undefined;
  private interrupts: NodeJS.Timeout | undefined;

  /** @param limit in milliseconds; undefined for none */
  constructor(
    private readonly turn: Turn,
    readonly timer: TransactionTimer,
    limit: number | undefined,
    onExpiry?: (reason: Error) => void,
  ) {
    timer.start(limit, (reason) => {
      this.expired = reason;
      this.connection.interrupt();
      // An interrupt has no effect before the statement has begun.
      this.interrupts = setInterval(() => this.connection.interrupt(), INTERRUPT_MS);
      onExpiry?.(reason);
    });
  }

  get connection(): SqliteConnection {
    return this.turn.connection;
  }

  /** Ends the time limit, and the interrupts. */
  lift(): void {
    this.timer.stop();
    clearInterval(this.interrupts);
  }

  /** @param nextUse of the connection, which has no transaction open, or else is closed */
  async end(nextUse: NextUse): Promise<void> {
    this.lift();
    await this.turn.end(nextUse);
  }
}

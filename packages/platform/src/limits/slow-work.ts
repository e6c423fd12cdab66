import { setImmediate as nextIteration } from 'node:timers/promises';

/** How many iterations of the event loop in a row run no slow work, since each accepted a connection. */
const MAX_ACCEPTING_ITERATIONS = 30;

/**
 * Work whose pieces take milliseconds each, such as reading the lines of an import. An iteration of
 * the event loop runs one piece at most. Node accepts one connection in each iteration, so while
 * connections wait to be accepted, most iterations run no piece: otherwise a flood of connections
 * would keep other clients waiting for minutes.
 */
export class SlowWork {
  private readonly waiting: (() => void)[] = [];
  private isRunning = false;
  private accepted = 0;

  /** Must be called for each connection that was accepted. */
  countConnection(): void {
    this.accepted++;
  }

  /** Runs a piece after those that wait already. It must not throw. */
  run(piece: () => void): void {
    this.waiting.push(piece);
    if (!this.isRunning) void this.runWaiting();
  }

  private async runWaiting(): Promise<void> {
    this.isRunning = true;
    for (;;) {
      await this.waitForQuietIteration();
      const piece = this.waiting.shift();
      if (piece === undefined) break;
      piece();
    }
    this.isRunning = false;
  }

  private async waitForQuietIteration(): Promise<void> {
    // The count below is of a whole iteration, so it begins at the start of one.
    await nextIteration();
    for (let iteration = 0; iteration < MAX_ACCEPTING_ITERATIONS; iteration++) {
      const before = this.accepted;
      await nextIteration();
      if (this.accepted === before) return;
    }
  }
}

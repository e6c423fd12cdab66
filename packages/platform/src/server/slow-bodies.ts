import type { Client } from '../limits/client.js';
import { FairQueue } from '../limits/fair-queue.js';
import type { SlowWork } from '../limits/slow-work.js';

/** How long the turn of a request lasts, in milliseconds. */
const TURN_MS = 10;

/** A request whose body comes in small chunks. */
interface SlowRequest {
  /** Whether its client has gone. */
  readonly destroyed: boolean;
  /** Reads as much of the body as has arrived, at most 64 KiB. */
  readOn: () => void;
}

/**
 * The requests whose bodies come in small chunks. Parsing 64 KiB of one-byte chunks takes
 * milliseconds, so the bodies of all clients are read one after the other.
 */
export class SlowBodies {
  private readonly waiting = new FairQueue<SlowRequest>();
  private isBusy = false;

  constructor(private readonly slowWork: SlowWork) {}

  /** Lets a request read on once it has its turn. It must not wait twice. */
  readInTurn(client: Client, request: SlowRequest): void {
    this.waiting.push(client, request);
    if (!this.isBusy) this.readNext();
  }

  private readNext(): void {
    let next = this.waiting.shift();
    while (next?.destroyed === true) next = this.waiting.shift();
    this.isBusy = next !== undefined;
    if (next === undefined) return;
    next.readOn();
    setTimeout(() => this.slowWork.run(() => this.readNext()), TURN_MS);
  }
}

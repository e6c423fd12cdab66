import type { Request, Response } from 'express';
import { type Client, getClient } from '../auth/client.js';
import { FairQueue } from '../auth/fair-queue.js';
import { WRITE_TIMEOUT_MS } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { RequestAbortedError, waitingBodies } from './body-reader.js';

/**
 * Bounds how many requests are handled at a time, and lets clients that wait go on in turn, so that
 * a burst of one does not keep the others waiting.
 */
export class Turns {
  /** For handlers. A flush of a slow disk answers many at once. */
  static readonly ofHandlers = new Turns(4_096, 64);
  /** For pages and their pieces: nothing else waits for them. */
  static readonly ofPages = new Turns(16, 16);

  private readonly waiting = new FairQueue<() => void>();
  /** How many may begin before the event loop goes on. */
  private quota: number;

  /**
   * @param free how many there may be at a time
   * @param perTurn how many begin in one turn of the event loop
   */
  private constructor(
    private free: number,
    private readonly perTurn: number,
  ) {
    this.quota = perTurn;
  }

  /**
   * Takes a turn for a request, in the place of the one that it has. The turn ends by {@link endTurn}
   * when the answer begins. Clients that wait are served in turn.
   *
   * @param body what is held of the request while it waits
   * @returns undefined when it need not wait
   * @throws ApiError 50300 when its turn does not come in time, or too much is held meanwhile
   * @throws RequestAbortedError when its client has gone
   */
  take(request: Request, response: Response, body = ''): Promise<void> | undefined {
    const { locals } = response;
    if (response.closed) throw new RequestAbortedError();
    if ('turn' in locals) endTurn(response);
    else response.on('close', () => endTurnSoon(response));
    if (this.free === 0 || this.quota === 0) return this.wait(getClient(request), response, body);
    this.begin(response);
    return undefined;
  }

  /** Gives a turn back. */
  release(): void {
    this.free++;
    this.beginWaiting();
  }

  private begin({ locals }: Response): void {
    locals.turn = this;
    this.free--;
    if (--this.quota > 0) return;
    setImmediate(() => {
      this.quota = this.perTurn;
      this.beginWaiting();
    });
  }

  private beginWaiting(): void {
    while (this.free > 0 && this.quota > 0 && !this.waiting.isEmpty) this.waiting.shift()?.();
  }

  private async wait(client: Client, response: Response, body: string): Promise<void> {
    const { waiting } = this;
    response.locals.turn = undefined;
    await new Promise<void>((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer);
        holding.end();
        response.off('close', leave);
      };
      const begin = (): void => {
        stopWaiting();
        this.begin(response);
        resolve();
      };
      const leave = (): void => {
        stopWaiting();
        waiting.delete(client, begin);
        reject(
          response.closed ? new RequestAbortedError() : new ApiError(ErrorCatalogue.UNAVAILABLE),
        );
      };
      const timer = setTimeout(leave, WRITE_TIMEOUT_MS);
      const holding = waitingBodies.hold(client, leave);
      response.on('close', leave);
      waiting.push(client, begin);
      holding.update(Buffer.byteLength(body));
    });
  }
}

/** Lets others be served once the answer begins, or while a request waits for its client. */
export function endTurn({ locals }: Response): void {
  const turns = locals.turn as Turns | undefined;
  locals.turn = undefined;
  turns?.release();
}

/** Work does not end with its client: until it has ended, it counts, as long as any may wait. */
function endTurnSoon(response: Response): void {
  if (response.writableEnded) endTurn(response);
  else if (response.locals.turn !== undefined) {
    setTimeout(() => endTurn(response), WRITE_TIMEOUT_MS).unref();
  }
}

import type { Request, Response } from 'express';
import { type Client, getClient } from '../auth/client.js';
import { FairQueue } from '../auth/fair-queue.js';
import { WRITE_TIMEOUT_MS } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { RequestAbortedError, waitingBodies } from './body-reader.js';

/** How many requests are handled at a time: a flush of a slow disk answers many at once. */
export const MAX_HANDLED = 4_096;
/** How many pages and pieces of pages are read at a time. */
export const MAX_PAGES = 16;
/** How much the bodies of the requests under way may have together, in bytes. */
export const HANDLED_BODIES_LIMIT = 32 * 1024 * 1024;

/**
 * Bounds how many requests are handled at a time, and lets clients that wait go on in turn, so that
 * a burst of one does not keep the others waiting.
 */
export class Turns {
  static readonly ofHandlers = new Turns(MAX_HANDLED, 64);
  /** Pages have turns of their own, so that nothing else waits for them. */
  static readonly ofPages = new Turns(MAX_PAGES, MAX_PAGES);

  private readonly waiting = new FairQueue<() => void>();
  private underWay = 0;
  /** How many may begin before the event loop goes on. */
  private quota: number;
  /** The bodies of the requests under way, in bytes. */
  private bytes = 0;

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
    const bytes = body === '' ? 0 : Buffer.byteLength(body);
    if (!this.mayBegin()) return this.wait(getClient(request), response, bytes);
    this.begin(response, bytes);
    return undefined;
  }

  get isIdle(): boolean {
    return this.underWay === 0;
  }

  private mayBegin(): boolean {
    return this.free > 0 && this.quota > 0 && this.bytes < HANDLED_BODIES_LIMIT;
  }

  private begin({ locals }: Response, bytes: number): void {
    this.free--;
    this.underWay++;
    this.bytes += bytes;
    locals.turn = () => {
      this.free++;
      this.underWay--;
      this.bytes -= bytes;
      this.beginWaiting();
    };
    if (--this.quota > 0) return;
    setImmediate(() => {
      this.quota = this.perTurn;
      this.beginWaiting();
    });
  }

  private beginWaiting(): void {
    while (!this.waiting.isEmpty && this.mayBegin()) this.waiting.shift()?.();
  }

  private async wait(client: Client, response: Response, bytes: number): Promise<void> {
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
        this.begin(response, bytes);
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
      holding.update(bytes);
    });
  }
}

/** Lets others be served once the answer begins, or while a request waits for its client. */
export function endTurn({ locals }: Response): void {
  const release = locals.turn as (() => void) | undefined;
  locals.turn = undefined;
  release?.();
}

/** Work does not end with its client: until it has ended, it counts, as long as any may wait. */
function endTurnSoon(response: Response): void {
  if (response.writableEnded) endTurn(response);
  else if (response.locals.turn !== undefined) {
    setTimeout(() => endTurn(response), WRITE_TIMEOUT_MS).unref();
  }
}

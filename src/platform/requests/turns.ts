import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { WAIT_TIMEOUT_MS } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { getClient } from '../limits/client.js';
import { FairQueue } from '../limits/fair-queue.js';
import { clientMemory } from '../limits/fair-share.js';
import { countHead, RequestAbortedError } from './body-chunks.js';

/** How many bytes all requests that are handled may take. On a slow disk, one flush answers many. */
export const HANDLED_BYTES = 64 * 1024 * 1024;
/** About how many bytes a request takes while it is handled, besides its body. */
const REQUEST_BYTES = 16 * 1024;
/** How long a download waits for its turn, in milliseconds: other clients may be slow to take theirs. */
export const MAX_DOWNLOAD_WAIT_MS = 30_000;
/** How many pages and pieces of pages are read at a time. */
export const MAX_PAGES = 32;
/** How many batches of all imports are stored at a time. */
export const MAX_BATCHES = 4;

/**
 * Bounds how much is done at a time. Waiting clients are served in turn, so that a burst of one
 * client does not delay the others. A turn is the right of one request to be handled.
 */
export class Turns {
  static readonly ofHandlers = new Turns(HANDLED_BYTES, 64);
  /** Pages have separate turns, so that other requests do not wait for them. */
  static readonly ofPages = new Turns(MAX_PAGES, MAX_PAGES);
  /** The bytes of answers, from before they are read until the client has taken them. */
  static readonly ofBytes = new Turns(HANDLED_BYTES, 64, MAX_DOWNLOAD_WAIT_MS);
  /** Reading the lines of a batch takes milliseconds, so one begins in a turn of the event loop. */
  static readonly ofBatches = new Turns(MAX_BATCHES, 1);

  private readonly waiting = new FairQueue<() => void>();
  /** Below zero while the last request that began takes more than was left. */
  private free: number;
  /** How many may still begin in this turn of the event loop. Each turn has the whole quota. */
  private quota: number;

  /**
   * @param capacity how much the costs of all turns may be together
   * @param perLoop how many begin in one turn of the event loop
   * @param waitMs how long a request waits for its turn, in milliseconds
   */
  private constructor(
    private readonly capacity: number,
    private readonly perLoop: number,
    private readonly waitMs = WAIT_TIMEOUT_MS,
  ) {
    this.free = capacity;
    this.quota = perLoop;
  }

  get isIdle(): boolean {
    return this.free === this.capacity;
  }

  /**
   * Takes a turn for a request, in place of the turn that it has. {@link endTurn} ends the turn
   * when the answer begins. Waiting clients are served in turn.
   *
   * @param bodyBytes the memory of the body that is held while the request waits and is handled
   * @param cost how much of the capacity the turn takes
   * @returns undefined if the request need not wait
   * @throws ApiError 50300 when it gets no turn in time, or too much memory is held meanwhile
   * @throws RequestAbortedError when its client has disconnected
   */
  take(
    response: Response,
    bodyBytes = 0,
    cost = this === Turns.ofHandlers ? REQUEST_BYTES + bodyBytes : 1,
  ): Promise<void> | undefined {
    if (response.closed) throw new RequestAbortedError();
    endTurn(response);
    if (!this.mayBegin()) return this.wait(response, bodyBytes, cost);
    this.begin(response, cost);
    return undefined;
  }

  private mayBegin(): boolean {
    return this.free > 0 && this.quota > 0;
  }

  private begin({ locals }: Response, cost: number): void {
    this.free -= cost;
    let isHeld = true;
    locals.turn = () => {
      if (isHeld) this.free += cost;
      isHeld = false;
      this.beginWaiting();
    };
    const isFirst = this.quota-- === this.perLoop;
    if (!isFirst) return;
    setImmediate(() => {
      this.quota = this.perLoop;
      this.beginWaiting();
    });
  }

  private beginWaiting(): void {
    while (!this.waiting.isEmpty && this.mayBegin()) this.waiting.shift()?.();
  }

  private async wait(response: Response, bodyBytes: number, cost: number): Promise<void> {
    const { waiting } = this;
    const client = getClient(response.req);
    await new Promise<void>((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer);
        holding.end();
        response.locals.leave = undefined;
      };
      const begin = (): void => {
        stopWaiting();
        this.begin(response, cost);
        resolve();
      };
      const leave = (): void => {
        stopWaiting();
        waiting.delete(client, begin);
        reject(
          response.closed ? new RequestAbortedError() : new ApiError(ErrorCatalogue.UNAVAILABLE),
        );
      };
      const timer = setTimeout(leave, this.waitMs);
      const holding = clientMemory.hold(client, leave);
      // A second listener would make Node put both into an array. V8 allocates these arrays among its
      // long-lived objects, where they keep requests in memory until the next full collection.
      response.locals.leave = leave;
      waiting.push(client, begin);
      holding.update(countHead(response.req) + bodyBytes);
    });
  }
}

/** Lets the requests of a handler take other turns than {@link Turns.ofHandlers}. */
export const TakesTurns = Reflector.createDecorator<Turns>();

/** Ends the turn of a request when its answer begins, or while it waits for its client. */
export function endTurn({ locals }: Response): void {
  const end = locals.turn as (() => void) | undefined;
  locals.turn = undefined;
  end?.();
}

/**
 * Ends the turn of a request whose connection has closed, or its wait for one. If it has no answer
 * yet, its work continues, and its turn is kept for as long as the work may take.
 */
export function endTurnOfClosed(response: Response): void {
  (response.locals.leave as (() => void) | undefined)?.();
  const end = response.locals.turn as (() => void) | undefined;
  if (response.writableEnded) endTurn(response);
  else if (end !== undefined) setTimeout(end, WAIT_TIMEOUT_MS).unref();
}

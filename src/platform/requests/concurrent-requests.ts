import { SetMetadata } from '@nestjs/common';
import type { Request, Response } from 'express';
import { getClient } from '../limits/client.js';
import { FairQueue } from '../limits/fair-queue.js';
import { WAIT_TIMEOUT_MS } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { countHead, RequestAbortedError, waitingBodies } from './body-reader.js';

/** How many requests are handled at a time. On a slow disk, one flush answers many at once. */
export const MAX_HANDLED = 4_096;
/** How many pages and pieces of pages are read at a time. */
export const MAX_PAGES = 32;
/** How many bytes the bodies of all requests being handled may have together. */
export const HANDLED_BODIES_LIMIT = 32 * 1024 * 1024;

/**
 * Bounds how many requests are handled at a time. Waiting clients are served in turn, so that a
 * burst of one client does not delay the others. A turn is the right of one request to be handled.
 */
export class Turns {
  static readonly ofHandlers = new Turns(MAX_HANDLED, 64);
  /** Pages have separate turns, so that other requests do not wait for them. */
  static readonly ofPages = new Turns(MAX_PAGES, MAX_PAGES);

  private readonly waiting = new FairQueue<() => void>();
  private running = 0;
  /** How many may still begin in this turn of the event loop. Each turn has the whole quota. */
  private quota: number;
  /** The bytes of the bodies of all running requests. */
  private bytes = 0;

  /**
   * @param free how many turns there are
   * @param perTurn how many begin in one turn of the event loop
   */
  private constructor(
    private free: number,
    private readonly perTurn: number,
  ) {
    this.quota = perTurn;
  }

  /**
   * Takes a turn for a request, in place of the turn that it has. {@link endTurn} ends the turn
   * when the answer begins. Waiting clients are served in turn.
   *
   * @param body the body that is held in memory while the request waits
   * @returns undefined if the request need not wait
   * @throws ApiError 50300 when it gets no turn in time, or too much memory is held meanwhile
   * @throws RequestAbortedError when its client has disconnected
   */
  take(request: Request, response: Response, body = ''): Promise<void> | undefined {
    const { locals } = response;
    if (response.closed) throw new RequestAbortedError();
    if ('turn' in locals) endTurn(response);
    else response.on('close', () => endTurnSoon(response));
    const bytes = body === '' ? 0 : countMemory(body);
    if (!this.mayBegin()) return this.wait(request, response, bytes);
    this.begin(response, bytes);
    return undefined;
  }

  get isIdle(): boolean {
    return this.running === 0;
  }

  private mayBegin(): boolean {
    return this.free > 0 && this.quota > 0 && this.bytes < HANDLED_BODIES_LIMIT;
  }

  private begin({ locals }: Response, bytes: number): void {
    this.free--;
    this.running++;
    this.bytes += bytes;
    locals.turn = () => {
      this.free++;
      this.running--;
      this.bytes -= bytes;
      this.beginWaiting();
    };
    const isFirst = this.quota-- === this.perTurn;
    if (!isFirst) return;
    setImmediate(() => {
      this.quota = this.perTurn;
      this.beginWaiting();
    });
  }

  private beginWaiting(): void {
    while (!this.waiting.isEmpty && this.mayBegin()) this.waiting.shift()?.();
  }

  private async wait(request: Request, response: Response, bytes: number): Promise<void> {
    const { waiting } = this;
    const client = getClient(request);
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
      const timer = setTimeout(leave, WAIT_TIMEOUT_MS);
      const holding = waitingBodies.hold(client, leave);
      response.on('close', leave);
      waiting.push(client, begin);
      holding.update(countHead(request) + bytes);
    });
  }
}

/** Estimates the bytes of a text in memory, where a character takes one or two. */
function countMemory(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}

export const TURNS = Symbol('turns');

/** Lets the requests of a handler take other turns than {@link Turns.ofHandlers}. */
export const TakesTurns = (turns: Turns): MethodDecorator => SetMetadata(TURNS, turns);

/** Ends the turn of a request when its answer begins, or while it waits for its client. */
export function endTurn({ locals }: Response): void {
  const release = locals.turn as (() => void) | undefined;
  locals.turn = undefined;
  release?.();
}

/**
 * The work of a request continues after its client has disconnected. Its turn is kept for as long
 * as the work may take.
 */
function endTurnSoon(response: Response): void {
  if (response.writableEnded) endTurn(response);
  else if (response.locals.turn !== undefined) {
    setTimeout(() => endTurn(response), WAIT_TIMEOUT_MS).unref();
  }
}

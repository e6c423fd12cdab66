import type { Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { RequestAbortedError } from '../errors/request-aborted.error.js';
import { getClient } from './client.js';
import { FairQueue } from './fair-queue.js';
import { countHead } from './request-memory.js';
import type { SlowWork } from './slow-work.js';

/** About how many bytes a request takes while it is handled, besides its body. */
export const REQUEST_BYTES = 16 * 1024;
/** The longest rest after a turn that gives way, in milliseconds. */
const MAX_REST_MS = 1_000;
/** How many bytes are parsed in about the time that the rest of a small request takes. */
export const BYTES_OF_A_START = 2 * 1024;

interface TurnOptions {
  /** How much the costs of all turns may be together. */
  readonly capacity: number;
  /** How many begin in one iteration of the event loop: by default one. */
  readonly perLoop?: number;
  /** Decides which iterations of the event loop begin any. Without it, all do. */
  readonly slowWork?: SlowWork;
  /**
   * Whether other requests are being handled. While they are, one turn is taken at a time, and its
   * capacity stays taken afterwards for as long as the turn took, up to 1 second. So the turns take
   * half of the program's time at most.
   */
  readonly givesWay?: () => boolean;
  /** How long a request waits for its turn, in milliseconds: by default as long as for the store. */
  readonly waitMs?: number;
  /**
   * Whether the cost of a turn is the memory of its request. Otherwise it is 1, unless the caller
   * says another.
   */
  readonly countsMemory?: boolean;
}

/**
 * A weighted semaphore: bounds how much is done at a time. Waiting clients are served in turn, so
 * that a burst of one client does not delay the others. A turn is the permit of one request to be
 * handled.
 */
export class RequestTurns {
  private readonly waiting = new FairQueue<() => void>();
  /** Below zero while the last request that began takes more than was left. */
  private free: number;
  /**
   * How many requests may still begin in this iteration of the event loop. A long body counts as
   * several, so it may be below zero.
   */
  private quota: number;

  private readonly options;

  constructor(options: TurnOptions) {
    this.options = { perLoop: 1, countsMemory: false, ...options };
    this.free = options.capacity;
    this.quota = this.options.perLoop;
  }

  get isIdle(): boolean {
    return this.free === this.options.capacity;
  }

  /**
   * Takes a turn for a request, and ends the turn that it has. {@link endTurn} ends the turn when
   * the answer begins. Waiting clients are served in turn.
   *
   * @param bodyBytes the memory of the body that is held while the request waits and is handled
   * @param cost how much of the capacity the turn takes
   * @returns undefined if the request need not wait
   * @throws ApiError 50300 when it gets no turn in time, or too much memory is held while it waits
   * @throws RequestAbortedError when its client has disconnected
   */
  take(
    response: Response,
    bodyBytes = 0,
    cost = this.options.countsMemory ? REQUEST_BYTES + bodyBytes : 1,
  ): Promise<void> | undefined {
    if (response.closed) throw new RequestAbortedError();
    endTurn(response);
    const starts = 1 + Math.floor(bodyBytes / BYTES_OF_A_START);
    if (!this.mayBegin()) return this.wait(response, bodyBytes, cost, starts);
    this.begin(response, cost, starts);
    return undefined;
  }

  private mayBegin(): boolean {
    if (this.quota <= 0) return false;
    return this.options.givesWay?.() === true ? this.isIdle : this.free > 0;
  }

  private begin({ req: { state } }: Response, cost: number, starts: number): void {
    this.free -= cost;
    const { givesWay, perLoop, slowWork } = this.options;
    // Every request takes a turn of another kind, which does not read the clock.
    const began = givesWay === undefined ? 0 : performance.now();
    // A turn may be ended by its answer and by its connection.
    let isHeld = true;
    state.endTurn = () => {
      if (!isHeld) return;
      isHeld = false;
      if (givesWay?.() !== true) {
        this.release(cost);
        return;
      }
      const restMs = Math.min(performance.now() - began, MAX_REST_MS);
      setTimeout(() => this.release(cost), restMs).unref();
    };
    const isFirstOfIteration = this.quota === perLoop;
    this.quota -= starts;
    if (!isFirstOfIteration) return;
    const beginNext = (): void => {
      this.quota = perLoop;
      this.beginWaiting();
    };
    if (slowWork === undefined) setImmediate(beginNext);
    else slowWork.run(beginNext);
  }

  private release(cost: number): void {
    this.free += cost;
    this.beginWaiting();
  }

  private beginWaiting(): void {
    while (!this.waiting.isEmpty && this.mayBegin()) this.waiting.shift()?.();
  }

  private async wait(
    response: Response,
    bodyBytes: number,
    cost: number,
    starts: number,
  ): Promise<void> {
    const { waiting } = this;
    const { limits } = response.req.state;
    const { waitMs = limits.waitMs } = this.options;
    const client = getClient(response.req);
    await new Promise<void>((resolve, reject) => {
      const cleanUp = (): void => {
        clearTimeout(timer);
        holding.end();
        response.req.state.leaveQueue = undefined;
      };
      const begin = (): void => {
        cleanUp();
        this.begin(response, cost, starts);
        resolve();
      };
      const leave = (): void => {
        cleanUp();
        waiting.delete(client, begin);
        reject(
          response.closed ? new RequestAbortedError() : new ApiError(ErrorCatalogue.UNAVAILABLE),
        );
      };
      const timer = setTimeout(leave, waitMs);
      const holding = limits.memory.hold(client, leave);
      // The 'close' listener of the request calls it. A second listener would make Node put both into
      // an array. V8 allocates these arrays among its long-lived objects, where they keep requests in
      // memory until the next full collection.
      response.req.state.leaveQueue = leave;
      waiting.push(client, begin);
      holding.update(countHead(response.req) + bodyBytes);
    });
  }
}

/** Ends the turn of a request when its answer begins, or while it waits for its client. */
export function endTurn({ req: { state } }: Response): void {
  const { endTurn: end } = state;
  state.endTurn = undefined;
  end?.();
}

/**
 * Ends the turn of a request whose connection has closed, or its wait for one. If it has no answer
 * yet, its work continues, and its turn is kept for as long as the work may take.
 */
export function endTurnOfClosed(response: Response): void {
  const { state } = response.req;
  state.leaveQueue?.();
  const isAnswered = response.writableEnded;
  if (isAnswered) endTurn(response);
  else if (state.endTurn !== undefined) setTimeout(state.endTurn, state.limits.waitMs).unref();
}

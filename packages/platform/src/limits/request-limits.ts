import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { WAIT_TIMEOUT_MS } from '../config/time-limits.js';
import { FairShare } from './fair-share.js';
import { RequestTurns } from './request-turns.js';
import { SlowWork } from './slow-work.js';

/** How many bytes may be held for all clients together. */
export const CLIENT_MEMORY = 128 * 1024 * 1024;
/** How many bytes all requests that are handled may take. On a slow disk, one flush answers many. */
export const HANDLED_BYTES = 64 * 1024 * 1024;
/**
 * How long downloads, imports and exports wait for a turn, in milliseconds: other clients may be
 * slow to take their downloads, and imports and exports give way to other requests.
 */
export const MAX_LONG_WAIT_MS = 30_000;
/** How many requests start in one iteration of the event loop. */
export const STARTS_PER_LOOP = 64;
/** How many pages are read at a time. */
export const MAX_PAGE_TURNS = 32;
/** How many pieces of all exports are read at a time, while nothing else is done. */
export const MAX_EXPORT_TURNS = 4;
/** How many batches of all imports are stored at a time, while nothing else is done. */
export const MAX_BATCHES = 4;
/** How many requests of all clients may wait for a change at a time. */
export const MAX_WAITING_REQUESTS = 2_000;

/** What all clients of an application share. */
export class RequestLimits {
  /** How long a request waits for its turn or for the store, in milliseconds: STORE_TIMEOUT_MS. */
  waitMs = WAIT_TIMEOUT_MS;

  /**
   * All memory that is held while something of a client is awaited: bodies that have arrived in part,
   * requests that wait for their turn, and answers that are not read.
   */
  readonly memory = new FairShare(CLIENT_MEMORY);

  /** The requests that wait for a change. */
  readonly waiting = new FairShare(MAX_WAITING_REQUESTS);

  /** Scrapes, batches of imports, pieces of exports and bodies in small chunks take milliseconds each. */
  readonly slowWork = new SlowWork();

  /** What imports and exports have in common: other requests do not wait for them. */
  private readonly ofLongRequests = {
    slowWork: this.slowWork,
    givesWay: () => this.isBusy,
    waitMs: MAX_LONG_WAIT_MS,
  };

  readonly turns = {
    handlers: new RequestTurns({
      capacity: HANDLED_BYTES,
      perLoop: STARTS_PER_LOOP,
      countsMemory: true,
    }),
    scrapes: new RequestTurns({ capacity: 1, slowWork: this.slowWork }),
    /** Pages have separate turns, so that other requests do not wait for them. */
    pages: new RequestTurns({ capacity: MAX_PAGE_TURNS, perLoop: MAX_PAGE_TURNS }),
    /** The bytes of answers, from before they are read until the client has taken them. */
    downloads: new RequestTurns({
      capacity: HANDLED_BYTES,
      perLoop: STARTS_PER_LOOP,
      waitMs: MAX_LONG_WAIT_MS,
    }),
    exports: new RequestTurns({ capacity: MAX_EXPORT_TURNS, ...this.ofLongRequests }),
    batches: new RequestTurns({ capacity: MAX_BATCHES, ...this.ofLongRequests }),
  };

  /** Whether requests are being handled, besides imports and exports. */
  private get isBusy(): boolean {
    const { handlers, pages } = this.turns;
    return !handlers.isIdle || !pages.isIdle;
  }
}

export type TurnKind = keyof RequestLimits['turns'];

/** Lets the requests of a handler take other turns than `handlers`. */
export const TakesTurns = Reflector.createDecorator<TurnKind>();

/** Takes a turn of a kind: see {@link RequestTurns.take}. */
export function takeTurn(
  response: Response,
  kind: TurnKind,
  bodyBytes?: number,
  cost?: number,
): Promise<void> | undefined {
  return response.req.state.limits.turns[kind].take(response, bodyBytes, cost);
}

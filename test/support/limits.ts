import type { Response } from 'express';
import type { FastExpressAdapter } from '../../packages/platform/src/server/fast-express-adapter.js';
import {
  HANDLED_BYTES,
  type RequestLimits,
} from '../../packages/platform/src/limits/request-limits.js';
import { RequestState } from '../../packages/platform/src/state/request-state.js';
import { endTurn } from '../../packages/platform/src/limits/request-turns.js';
import type { TestApplication } from 'durable-rest/testing';

export function getLimits({ nest }: TestApplication): RequestLimits {
  return (nest.getHttpAdapter() as unknown as FastExpressAdapter).limits;
}

/** How many bytes are held for all clients. */
export function countHeld(app: TestApplication): number {
  return (getLimits(app).memory as unknown as { amount: number }).amount;
}

/** Takes all turns of handlers, and returns a function that gives them back. */
export function takeHandlerTurns(app: TestApplication): () => void {
  const limits = getLimits(app);
  const req = { state: new RequestState(limits) };
  const response = { req, closed: false } as unknown as Response;
  void limits.turns.handlers.take(response, 0, HANDLED_BYTES);
  return () => endTurn(response);
}

/** Whether a request waits for the turn of a handler. */
export function isHandlerAwaited(app: TestApplication): boolean {
  const { handlers } = getLimits(app).turns;
  return !(handlers as unknown as { waiting: { isEmpty: boolean } }).waiting.isEmpty;
}

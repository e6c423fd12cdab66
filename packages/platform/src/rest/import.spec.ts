import { afterEach, expect, it } from '@jest/globals';
import type { Response } from 'express';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ConstraintError, type ListOutcome } from 'durable-store';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { RequestLimits } from '../limits/request-limits.js';
import { RequestState } from '../state/request-state.js';
import { holdTimeouts, passTimeouts, resetClocks, stopClock } from '../testing/clock.js';
import { type BodyLines, importLines } from './import.js';

afterEach(resetClocks);

function makeResponse(limits: RequestLimits): Response {
  return { req: { state: new RequestState(limits) } } as Response;
}

/** The body of a request with one batch of one line. */
function makeBody(response: Response): BodyLines<object> {
  const read = (): object => ({ values: [{}], numbers: [1], failures: new Map() });
  const counter = { inc: () => undefined };
  return Object.assign([Buffer.of()], { response, read, counter }) as never;
}

it.each<[what: string, batchMs: number, others: number, pauseMs: number]>([
  ['as long as the batch took', 300, 1, 300],
  ['a second at most', 5_000, 1, 1_000],
  ['not at all if no other request is handled', 300, 0, 0],
])('an import pauses after a batch: %s', async (_, batchMs, others, pauseMs) => {
  stopClock();
  holdTimeouts();
  const limits = new RequestLimits();
  for (let count = 0; count < others; count++)
    void limits.turns.handlers.take(makeResponse(limits));
  const createAll = (): Promise<Omit<ListOutcome, 'outcomes'>> => {
    passTimeouts(batchMs);
    return Promise.resolve({ created: 1, identical: 0, failures: new Map() });
  };
  let isOver = false;
  const body = makeBody(makeResponse(limits));
  void importLines(body, createAll, ErrorCatalogue.CONFLICT).then(() => (isOver = true));
  for (let passed = 0; passed < pauseMs; passed++) {
    await nextTurn();
    expect([passed, isOver]).toEqual([passed, false]);
    passTimeouts(1);
  }
  await nextTurn();
  expect(isOver).toBe(true);
});

it('an import ends with an error that is not the fault of a line', async () => {
  const error = new ConstraintError({ kind: 'not null', table: 'plants' });
  const createAll = (): Promise<Omit<ListOutcome, 'outcomes'>> =>
    Promise.resolve({ created: 0, identical: 0, failures: new Map([[0, error]]) });
  const body = makeBody(makeResponse(new RequestLimits()));
  await expect(importLines(body, createAll, ErrorCatalogue.CONFLICT)).rejects.toBe(error);
});

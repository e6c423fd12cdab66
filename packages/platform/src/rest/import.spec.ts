import { expect, it } from '@jest/globals';
import type { Response } from 'express';
import { ConstraintError, type ListOutcome } from 'durable-store';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { RequestLimits } from '../limits/request-limits.js';
import { RequestState } from '../state/request-state.js';
import { type BodyLines, importLines } from './import.js';

function makeResponse(limits: RequestLimits): Response {
  return { req: { state: new RequestState(limits) } } as Response;
}

/** The body of a request with one batch of one line. */
function makeBody(response: Response): BodyLines<object> {
  const read = (): object => ({ values: [{}], numbers: [1], failures: new Map() });
  const counter = { inc: () => undefined };
  return Object.assign([Buffer.of()], { response, read, counter }) as never;
}

it('an import ends with an error that is not the fault of a line', async () => {
  const error = new ConstraintError({ kind: 'not null', table: 'plants' });
  const createAll = (): Promise<Omit<ListOutcome, 'outcomes'>> =>
    Promise.resolve({ created: 0, identical: 0, failures: new Map([[0, error]]) });
  const body = makeBody(makeResponse(new RequestLimits()));
  await expect(importLines(body, createAll, ErrorCatalogue.CONFLICT)).rejects.toBe(error);
});

import { expect, it } from '@jest/globals';
import type { Request } from 'express';
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiError } from '../errors/api-error.js';
import { MAX_WAITING_REQUESTS, RequestLimits } from '../limits/request-limits.js';
import { RequestState } from '../limits/request-state.js';
import { waitInRequest } from './long-poll.js';

it('the client with most of too many waiting requests loses the oldest', async () => {
  const limits = new RequestLimits();
  const refused: string[] = [];
  const responses: (EventEmitter & { closed: boolean })[] = [];
  const wait = (ip: string): void => {
    const name = `${ip} ${responses.length}`;
    const state = new RequestState(limits);
    const res = Object.assign(new EventEmitter(), { req: { state }, closed: false });
    responses.push(res);
    const request = {
      method: 'GET',
      ip,
      state,
      socket: new EventEmitter(),
      res,
    } as unknown as Request;
    const untilAborted = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    waitInRequest(request, 3_600_000, untilAborted).catch((error: unknown) => {
      if (!res.closed) refused.push(`${name} gets ${(error as Partial<ApiError>).getStatus?.()}`);
    });
  };
  wait('192.0.2.1');
  while (responses.length < MAX_WAITING_REQUESTS) wait('192.0.2.2');
  await nextTurn();
  expect(refused).toEqual([]);
  wait('192.0.2.2');
  await nextTurn();
  expect(refused).toEqual(['192.0.2.2 1 gets 503']);
  for (const response of responses) {
    response.closed = true;
    response.emit('close');
  }
  await nextTurn();
});

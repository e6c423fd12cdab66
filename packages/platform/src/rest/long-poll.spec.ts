import { expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiError } from '../errors/api-error.js';
import { MAX_WAITING_REQUESTS, RequestLimits } from '../limits/request-limits.js';
import { RequestState } from '../state/request-state.js';
import { waitInRequest } from './long-poll.js';

const HOUR_MS = 3_600_000;

function makeRequest(limits: RequestLimits, ip: string): Request {
  const state = new RequestState(limits);
  const res = Object.assign(new EventEmitter(), { req: { state }, closed: false });
  return { method: 'GET', ip, state, socket: new EventEmitter(), res } as unknown as Request;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}

it('the client with most of too many waiting requests loses the oldest', async () => {
  const limits = new RequestLimits();
  const refused: string[] = [];
  const responses: (Response & { closed: boolean })[] = [];
  const wait = (ip: string): void => {
    const name = `${ip} ${responses.length}`;
    const request = makeRequest(limits, ip);
    const res = request.res as Response & { closed: boolean };
    responses.push(res);
    waitInRequest(request, HOUR_MS, untilAborted).catch((error: unknown) => {
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

it('a request stops waiting when the system ends the connection of its client', async () => {
  const request = makeRequest(new RequestLimits(), '192.0.2.1');
  let isOver = false;
  void waitInRequest(request, HOUR_MS, untilAborted).then(() => (isOver = true));
  await nextTurn();
  expect(isOver).toBe(false);
  request.socket.emit('end');
  await nextTurn();
  expect(isOver).toBe(true);
});

it('a request that has waited takes a turn to read its page, and waits no more', async () => {
  const limits = new RequestLimits();
  const request = makeRequest(limits, '192.0.2.1');
  await waitInRequest(request, HOUR_MS, () => Promise.resolve());
  expect(limits.turns.pages.isIdle).toBe(false);
  expect(limits.waiting).toHaveProperty('amount', 0);
});

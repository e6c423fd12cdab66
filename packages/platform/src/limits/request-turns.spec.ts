import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Response } from 'express';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WAIT_TIMEOUT_MS } from '../config/time-limits.js';
import { RequestAbortedError } from '../errors/request-aborted.error.js';
import { HANDLED_BYTES, MAX_PAGE_TURNS, RequestLimits } from './request-limits.js';
import { RequestState } from '../state/request-state.js';
import { endTurn, endTurnOfClosed } from './request-turns.js';

const limits = new RequestLimits();
const { handlers, pages } = limits.turns;

/** The answer to a request of a client at this address. */
function ask(ip: string): Response & { closed: boolean } {
  const req = { ip, rawHeaders: [], state: new RequestState(limits) };
  return { req, closed: false } as unknown as Response & { closed: boolean };
}

function leave(response: Response & { closed: boolean }): void {
  response.closed = true;
  endTurnOfClosed(response);
}

/** Slow work waits for an iteration of the event loop without new connections. */
async function passIterations(): Promise<void> {
  for (let iteration = 0; iteration < 10; iteration++) await nextTurn();
}

/** Takes all turns for pages. */
async function takeAll(): Promise<(Response & { closed: boolean })[]> {
  const holders = Array.from({ length: MAX_PAGE_TURNS }, () => {
    const response = ask('192.0.2.1');
    void pages.take(response);
    return response;
  });
  // Some may begin only in the next turn of the event loop.
  await nextTurn();
  return holders;
}

afterEach(() => {
  jest.useRealTimers();
});

it('gives a turn to one of each client that waits before the second of any', async () => {
  const holders = await takeAll();
  await nextTurn();
  await nextTurn();
  const begun: string[] = [];
  const waiting = ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'].map((ip, index) => {
    const response = ask(ip);
    const turn = pages.take(response)?.then(() => begun.push(`${ip} ${index}`));
    return { response, turn };
  });
  for (const holder of holders.slice(0, 2)) endTurn(holder);
  await waiting[0]?.turn;
  await waiting[3]?.turn;
  expect(begun).toEqual(['192.0.2.1 0', '192.0.2.2 3']);
  for (const holder of holders) endTurn(holder);
  for (const { turn } of waiting) await turn;
  for (const { response } of waiting) endTurn(response);
});

it('waits for no disconnected client, and for none longer than its deadline', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  const holders = await takeAll();
  const gone = ask('192.0.2.1');
  const left = pages.take(gone);
  leave(gone);
  await expect(left).rejects.toThrow(RequestAbortedError);
  const late = pages.take(ask('192.0.2.1'));
  jest.advanceTimersByTime(WAIT_TIMEOUT_MS + 1);
  await expect(late).rejects.toMatchObject({ status: 503 });
  const closed = ask('192.0.2.1');
  closed.closed = true;
  expect(() => pages.take(closed)).toThrow(RequestAbortedError);
  for (const holder of holders) endTurn(holder);
});

it('counts the work for a disconnected client until the work has ended', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  const holders = await takeAll();
  await nextTurn();
  const response = ask('192.0.2.1');
  let hasBegun = false;
  void pages.take(response)?.then(() => (hasBegun = true));
  for (const holder of holders) leave(holder);
  await Promise.resolve();
  expect(hasBegun).toBe(false);
  jest.advanceTimersByTime(4_999);
  if (holders[0] !== undefined) endTurn(holders[0]);
  await nextTurn();
  expect(hasBegun).toBe(true);
  for (const one of [...holders, response]) endTurn(one);
});

it('counts the work for a disconnected client for five seconds at most', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  for (const holder of await takeAll()) leave(holder);
  expect(pages.isIdle).toBe(false);
  jest.advanceTimersByTime(WAIT_TIMEOUT_MS);
  expect(pages.isIdle).toBe(true);
});

it('lets requests wait while the bodies that are handled take all the memory', async () => {
  const response = ask('192.0.2.1');
  await handlers.take(response, HANDLED_BYTES);
  const itsResponse = ask('192.0.2.1');
  const turn = handlers.take(itsResponse);
  expect(turn).toBeDefined();
  endTurn(response);
  await turn;
  endTurn(itsResponse);
  expect(handlers.isIdle).toBe(true);
});

describe.each(['batches', 'exports'] as const)('%s', (kind) => {
  const turns = limits.turns[kind];

  /** Begins two, and says whether the second has begun. */
  async function beginTwo(): Promise<{
    first: Response;
    end: () => void;
    hasBegun: () => boolean;
  }> {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const [first, second] = [ask('192.0.2.1'), ask('192.0.2.2')];
    await turns.take(first);
    let hasBegun = false;
    void turns.take(second)?.then(() => (hasBegun = true));
    await passIterations();
    const end = (): void => {
      for (const response of [first, second]) endTurn(response);
    };
    return { first, end, hasBegun: () => hasBegun };
  }

  it('begin side by side while nothing else is handled', async () => {
    const { end, hasBegun } = await beginTwo();
    expect(hasBegun()).toBe(true);
    end();
    expect(turns.isIdle).toBe(true);
  });

  it.each([
    ['a request', handlers],
    ['a page', pages],
  ])('rest as long as they took while %s is handled', async (_, others) => {
    const other = ask('192.0.2.3');
    void others.take(other);
    const { first, end, hasBegun } = await beginTwo();
    expect(hasBegun()).toBe(false);
    jest.advanceTimersByTime(300);
    endTurn(first);
    jest.advanceTimersByTime(299);
    await passIterations();
    expect(hasBegun()).toBe(false);
    jest.advanceTimersByTime(1);
    await passIterations();
    expect(hasBegun()).toBe(true);
    endTurn(other);
    end();
    expect(turns.isIdle).toBe(true);
  });

  it('rest for one second at most', async () => {
    const other = ask('192.0.2.3');
    void handlers.take(other);
    const { first, end, hasBegun } = await beginTwo();
    jest.advanceTimersByTime(9_000);
    endTurn(first);
    jest.advanceTimersByTime(1_000);
    await passIterations();
    expect(hasBegun()).toBe(true);
    endTurn(other);
    end();
  });
});

it.each([
  ['64 small requests', 100, 64],
  ['two bodies of 98 kB, whose parsing takes milliseconds', 98_000, 2],
])('begins %s in one turn of the event loop', async (_, bodyBytes, count) => {
  const responses = Array.from({ length: 100 }, () => ask('192.0.2.1'));
  await nextTurn();
  const turns = responses.map((response) => handlers.take(response, bodyBytes));
  expect(turns.filter((turn) => turn === undefined)).toHaveLength(count);
  for (const [index, turn] of turns.entries()) {
    await turn;
    const response = responses[index];
    if (response !== undefined) endTurn(response);
  }
});

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ListOutcome } from '../database/batched-repository.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { LineBatches, ReadLines } from '../requests/body-lines.js';
import { type ImportResultDto, importLines, MAX_BATCHES } from './import.js';

beforeEach(() => {
  Logger.overrideLogger(false);
});

afterEach(() => {
  jest.useRealTimers();
});

function createBody(
  name = 'a',
  times = 1,
  readLines = (): ReadLines<string> => ({ values: [name], numbers: [1], failures: new Map() }),
): LineBatches<string> {
  return {
    client: { name, address: '192.0.2.1' },
    signal: new AbortController().signal,
    setResultBytes: () => undefined,
    async *[Symbol.asyncIterator]() {
      for (let time = 0; time < times; time++) yield await Promise.resolve(readLines);
    },
  };
}

function store(names: readonly string[]): Promise<ListOutcome> {
  return Promise.resolve({ created: names.length, identical: 0, failures: new Map() });
}

function begin(body = createBody(), createAll = store): Promise<ImportResultDto> {
  return importLines(body, createAll, ErrorCatalogue.INVALID_BODY);
}

it('reports no more progress once the store has failed', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  const failing = begin(createBody(), () => Promise.reject(new Error('the store is gone')));
  await expect(failing).rejects.toThrow('the store is gone');
  expect(jest.getTimerCount()).toBe(0);
});

it('stores the lines of one client after few of another, however many imports that one has', async () => {
  const stored: string[] = [];
  const storeSoon = async (names: readonly string[]): Promise<ListOutcome> => {
    await nextTurn();
    stored.push(...names);
    return store(names);
  };
  const clients = [...Array.from({ length: 500 }, () => 'many'), 'one'];
  await Promise.all(clients.map((name) => begin(createBody(name), storeSoon)));
  expect(stored).toHaveLength(clients.length);
  expect(stored.indexOf('one')).toBeLessThan(40);
});

it('reads one batch of all imports in each turn of the event loop', async () => {
  let turn = 0;
  const turns: number[] = [];
  const readLines = (): ReadLines<string> => {
    turns.push(turn);
    return { values: ['a'], numbers: [1], failures: new Map() };
  };
  const imports = Array.from({ length: 50 }, () => begin(createBody('a', 2, readLines)));
  let isDone = false as boolean;
  void Promise.all(imports).then(() => (isDone = true));
  for (; !isDone; turn++) await nextTurn();
  expect(turns).toHaveLength(100);
  expect(new Set(turns).size).toBe(100);
});

it('counts the failures that it lists as memory of the client', async () => {
  const failures = new Map([[1, new ApiError(ErrorCatalogue.INVALID_BODY)]]);
  const body = createBody('a', 3, () => ({ values: [], numbers: [], failures }));
  const counted = jest.spyOn(body, 'setResultBytes');
  await begin(body);
  const [first = 0, , last = 0] = counted.mock.calls.map(([bytes]) => bytes);
  expect(first).toBeGreaterThan(100);
  expect(last).toBe(3 * first);
});

it('begins no more batches than may be stored at a time, and none of a body that has ended', async () => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const storeLater = jest.fn(async (names: readonly string[]) => {
    await finished;
    return store(names);
  });
  const imports = Array.from({ length: 100 }, () => begin(createBody(), storeLater));
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  expect(storeLater).toHaveBeenCalledTimes(MAX_BATCHES);
  const body = new AbortController();
  setMaxListeners(0, body.signal);
  const ended = Array.from({ length: 100 }, () =>
    begin({ ...createBody('b'), signal: body.signal }),
  );
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  body.abort(new ApiError(ErrorCatalogue.UNAVAILABLE));
  for (const outcome of await Promise.allSettled(ended)) {
    expect(outcome).toMatchObject({ reason: { status: 503 } });
  }
  finish();
  for (let turn = 0; turn < 200; turn++) await nextTurn();
  expect(storeLater).toHaveBeenCalledTimes(100);
  await Promise.all(imports);
});

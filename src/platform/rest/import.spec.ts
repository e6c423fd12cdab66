import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
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

describe('while as many batches are stored as may be at a time', () => {
  let finish = (): void => undefined;
  let storeLater: typeof store;
  let imports: Promise<ImportResultDto>[];

  beforeEach(async () => {
    const finished = new Promise<void>((resolve) => (finish = resolve));
    storeLater = jest.fn(async (names: readonly string[]) => {
      await finished;
      return store(names);
    });
    imports = Array.from({ length: 100 }, () => begin(createBody(), storeLater));
    await passTurns(100);
  });

  it('begins no other, and begins the others afterwards', async () => {
    expect(storeLater).toHaveBeenCalledTimes(MAX_BATCHES);
    finish();
    await Promise.all(imports);
    expect(storeLater).toHaveBeenCalledTimes(imports.length);
  });

  it('never begins those of a body that has ended meanwhile', async () => {
    const body = new AbortController();
    setMaxListeners(0, body.signal);
    const ended = Array.from({ length: 100 }, () =>
      begin({ ...createBody('b'), signal: body.signal }, storeLater),
    );
    await passTurns(10);
    body.abort(new ApiError(ErrorCatalogue.UNAVAILABLE));
    for (const outcome of await Promise.allSettled(ended)) {
      expect(outcome).toMatchObject({ reason: { status: 503 } });
    }
    finish();
    await passTurns(200);
    expect(storeLater).toHaveBeenCalledTimes(imports.length);
    await Promise.all(imports);
  });
});

async function passTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

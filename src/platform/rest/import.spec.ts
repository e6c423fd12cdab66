import { afterEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { LineBatch } from '../requests/body-lines.js';
import { WAITING_BODIES_LIMIT } from '../requests/body-reader.js';
import { importLines, MAX_BATCHES } from './import.js';

afterEach(() => {
  jest.useRealTimers();
});

async function* readOneLine(name = 'a', size = 10): AsyncGenerator<LineBatch<string>> {
  const client = { name, address: '192.0.2.1' };
  const batch = { client, values: [name], numbers: [1], failures: new Map<number, never>() };
  yield await Promise.resolve({ ...batch, size, readMs: 0 });
}

it('reports no more progress once the store has failed', async () => {
  Logger.overrideLogger(false);
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  const failing = importLines(
    readOneLine(),
    () => Promise.reject(new Error('the store is gone')),
    ErrorCatalogue.INVALID_BODY,
  );
  await expect(failing).rejects.toThrow('the store is gone');
  expect(jest.getTimerCount()).toBe(0);
});

it('stores the lines of one client after few of another, however many imports that one has', async () => {
  Logger.overrideLogger(false);
  const stored: string[] = [];
  const begin = (name: string): Promise<unknown> =>
    importLines(
      readOneLine(name),
      async (names) => {
        await nextTurn();
        stored.push(...names);
        return { created: names.length, identical: 0, failures: new Map<number, never>() };
      },
      ErrorCatalogue.INVALID_BODY,
    );
  const imports = [...Array.from({ length: 500 }, () => begin('many')), begin('one')];
  await Promise.all(imports);
  expect(stored).toHaveLength(imports.length);
  expect(stored.indexOf('one')).toBeLessThan(40);
});

it('refuses the lines that are too much to hold until it is their turn', async () => {
  Logger.overrideLogger(false);
  let store = (): void => undefined;
  const stored = new Promise<void>((resolve) => (store = resolve));
  const imports = Array.from({ length: 100 }, () =>
    importLines(
      readOneLine('many', WAITING_BODIES_LIMIT / 64),
      async () => {
        await stored;
        return { created: 1, identical: 0, failures: new Map<number, never>() };
      },
      ErrorCatalogue.INVALID_BODY,
    ),
  );
  const outcomes = Promise.allSettled(imports);
  await expect(Promise.race(imports)).rejects.toMatchObject({ status: 503 });
  store();
  const refused = (await outcomes).filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(100 - MAX_BATCHES - 64);
});

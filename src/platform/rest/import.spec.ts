import { afterEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { LineBatch } from '../requests/body-lines.js';
import { importLines } from './import.js';

afterEach(() => {
  jest.useRealTimers();
});

async function* readOneLine(): AsyncGenerator<LineBatch<object>> {
  yield await Promise.resolve({ values: [{}], numbers: [1], failures: new Map(), readMs: 0 });
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

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WAIT_TIMEOUT_MS } from '../engine/time-limits.js';
import { Turns, type Work } from './turns.js';

let turns: Turns;
/** The callers that got a turn, in their order. */
let begun: string[];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  turns = new Turns('to write', WAIT_TIMEOUT_MS);
  begun = [];
});

afterEach(() => {
  jest.useRealTimers();
});

/** Takes a turn, and ends it later. */
async function write(work: Work): Promise<void> {
  const end = await turns.take(work);
  begun.push(work);
  await nextTurn();
  end();
}

it('turns go to a batch and to a module by turns, while both wait', async () => {
  const end = await turns.take('batch');
  const callers = ['batch', 'batch', 'module', 'module'] as const;
  const writes = callers.map((caller) => write(caller));
  end();
  await Promise.all(writes);
  expect(begun).toEqual(['module', 'batch', 'module', 'batch']);
});

describe('a caller that has waited too long', () => {
  it('is refused with the place of the module that has the turn', async () => {
    const reason = /No turn to write was free within \d+ ms.*\n.*a module begins/;
    await turns.take('module', new Error('a module begins'));
    const refused = ['batch', 'module'].map(async (caller) => {
      await expect(turns.take(caller as Work)).rejects.toThrow(reason);
    });
    jest.advanceTimersByTime(WAIT_TIMEOUT_MS);
    await Promise.all(refused);
  });

  it('does not take the turn of the one after it', async () => {
    const end = await turns.take('batch');
    const late = expect(turns.take('module')).rejects.toThrow('No turn');
    jest.advanceTimersByTime(WAIT_TIMEOUT_MS - 1);
    const inTime = write('module');
    jest.advanceTimersByTime(1);
    await late;
    end();
    await inTime;
    expect(begun).toEqual(['module']);
  });
});

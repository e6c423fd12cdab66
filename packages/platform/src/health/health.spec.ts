import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { passSeconds, resetClocks, stopClock } from '../testing/clock.js';
import { StoreFailures } from 'durable-store';
import { loadEnv } from '../config/env.js';
import { HealthController } from './health.controller.js';

let write: jest.Mock<() => Promise<void>>;
let health: HealthController;

beforeEach(() => {
  Logger.overrideLogger(false);
  stopClock();
  write = jest.fn(() => Promise.resolve());
  const store = { probeWrite: write, failures: new StoreFailures() };
  health = new HealthController(store as never, loadEnv({}));
});

afterEach(resetClocks);

const UNAVAILABLE = { status: 503 };

describe('readiness', () => {
  it('writes to the store once at a time for all probes, and caches the result', async () => {
    await Promise.all([health.ready(), health.ready(), health.ready()]);
    await health.ready();
    expect(write).toHaveBeenCalledTimes(1);
  });

  it('is refused when the store fails', async () => {
    write.mockRejectedValueOnce(new Error('The disk is full'));
    await expect(health.ready()).rejects.toMatchObject(UNAVAILABLE);
  });

  it('is refused when the store does not answer, and sends no second write meanwhile', async () => {
    write.mockReturnValueOnce(new Promise(() => undefined));
    await expect(health.ready()).rejects.toMatchObject(UNAVAILABLE);
    passSeconds(2);
    void health.ready().catch(() => undefined);
    expect(write).toHaveBeenCalledTimes(1);
  });
});

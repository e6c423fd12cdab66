import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { StoreProbe } from '../../src/platform/health/store-probe.js';
import { passSeconds, resetClocks, setClockBy, stopClock } from '../support/clock.js';
import { expectError } from '../support/expect-error.js';
import { TestApp } from '../support/test-app.js';

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start();
  // Otherwise a busy machine could reach a time limit.
  stopClock();
});

afterAll(async () => {
  resetClocks();
  await app.close();
});

function store(): StoreDataSource {
  return app.nest.get(DataSource);
}

describe('health', () => {
  it.each(['/health/live', '/health/ready'])(
    'at %s needs no token and has no details',
    async (path) => {
      const answer = await app.request('GET', path);
      expect(answer).toMatchObject({ status: 200, body: { status: 'ok' } });
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(await app.request('HEAD', path)).toMatchObject({ status: 200, body: '' });
      expectError(await app.request('POST', path), 'METHOD_NOT_ALLOWED');
    },
  );

  it('writes to the store once at a time for all probes, and caches the result', async () => {
    passSeconds(2);
    const write = jest.spyOn(store(), 'probeWrite');
    const ask = (): Promise<unknown> => app.request('GET', '/health/ready');
    await Promise.all([ask(), ask(), ask()]);
    await ask();
    expect(write).toHaveBeenCalledTimes(1);
    write.mockRestore();
  });

  it('is ready or not as the store can be written or not, and lives all the while', async () => {
    passSeconds(2);
    const write = jest.spyOn(store(), 'probeWrite').mockRejectedValue(new Error('SQL of plants'));
    const answer = await app.request('GET', '/health/ready');
    expectError(answer, 'UNAVAILABLE', expect.not.stringMatching(/SQL|plants/));
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await app.request('HEAD', '/health/ready')).toMatchObject({ status: 503, body: '' });
    expect(await app.request('GET', '/health/live')).toMatchObject({ status: 200 });
    write.mockRestore();
    passSeconds(2);
    expect(await app.request('GET', '/health/ready')).toMatchObject({ status: 200 });
  });

  it('is checked again though the clock was set back', async () => {
    passSeconds(2);
    expect(await app.request('GET', '/health/ready')).toMatchObject({ status: 200 });
    setClockBy(-3_600);
    passSeconds(2);
    const write = jest.spyOn(store(), 'probeWrite').mockRejectedValue(new Error('gone'));
    expectError(await app.request('GET', '/health/ready'), 'UNAVAILABLE');
    write.mockRestore();
  });

  it('is not ready when the store does not answer, and sends no second write meanwhile', async () => {
    passSeconds(2);
    let answer: () => void = () => undefined;
    const stuck = new Promise<void>((resolve) => (answer = resolve));
    const write = jest.spyOn(store(), 'probeWrite').mockReturnValue(stuck);
    expectError(await app.request('GET', '/health/ready'), 'UNAVAILABLE');
    passSeconds(2);
    const second = app.nest.get(StoreProbe).isWritable();
    expect(write).toHaveBeenCalledTimes(1);
    answer();
    await second;
    write.mockRestore();
  });

  it('leaves no trace in the store', async () => {
    expect(await app.rows()).toEqual([]);
  });
});

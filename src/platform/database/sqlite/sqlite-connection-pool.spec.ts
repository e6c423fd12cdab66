import { afterEach, expect, it, jest } from '@jest/globals';
import { join } from 'node:path';
import { inNewFolder } from '../../../../test/support/new-folder.js';
import { SqliteConnectionPool } from './sqlite-connection-pool.js';

afterEach(() => {
  jest.useRealTimers();
});

it('refuses a statement that reads once it has waited five seconds for others to end', async () => {
  await inNewFolder(async (folder) => {
    const pool = await SqliteConnectionPool.open(join(folder, 'store.db'), 1_000);
    const readers = [await pool.acquire('read'), await pool.acquire('read')];
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const third = pool.acquire('read');
    const refused = expect(third).rejects.toMatchObject({ status: 503 });
    jest.advanceTimersByTime(5_001);
    await refused;

    // The one that was refused does not take the place of the one after it.
    const fourth = pool.acquire('read');
    for (const reader of readers) await reader.release(true);
    await (await fourth).release(true);
    await pool.close();
  });
});

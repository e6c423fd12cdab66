import { afterEach, expect, it, jest } from '@jest/globals';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
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

it('aborts a statement that reads rows or pages for so long that nobody waits for it', async () => {
  const text = 'WITH RECURSIVE endless(i) AS (SELECT 1 UNION ALL SELECT i FROM endless)';
  const endless = { name: 'endless', text: `${text} SELECT count(*) FROM endless` };
  await inNewFolder(async (folder) => {
    const pool = await SqliteConnectionPool.open(join(folder, 'store.db'), 1_000);
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    for (const readers of [pool.rowReaders, pool.pageReaders]) {
      const session = await readers.acquire();
      let error: unknown;
      session.query(endless, []).catch((reason: unknown) => (error = reason));
      while (error === undefined) {
        jest.advanceTimersByTime(5_000);
        await nextTurn();
      }
      expect(error).toMatchObject({ code: 'SQLITE_INTERRUPT' });
      session.release(true);
      const next = await readers.acquire();
      expect(await next.query({ name: 'one', text: 'SELECT 1 AS one' }, [])).toEqual([{ one: 1 }]);
      next.release(false);
    }
    await pool.close();
  });
});

import { expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PostgresPool } from './postgres-pool.js';

/** Opens connections whose commits wait for a standby. */
function openPool(size: number): {
  pool: PostgresPool;
  processes: Set<number>;
  end: jest.Mock<() => void>;
} {
  const processes = new Set<number>();
  let opened = 0;
  const client = {
    release: () => undefined,
    query: ({ values: [wanted] }: { values: [number[]] }) =>
      Promise.resolve({ rows: wanted.filter((one) => processes.has(one)).map((pid) => ({ pid })) }),
  };
  const connect = (): unknown => {
    const processID = ++opened;
    processes.add(processID);
    return Promise.resolve(Object.assign(new EventEmitter(), client, { processID }));
  };
  const end = jest.fn<() => void>();
  return { pool: new PostgresPool({ connect, end } as unknown as Pool, size), processes, end };
}

it('makes no further commits beside too many that wait for a standby', async () => {
  const { pool, processes } = openPool(2);
  for (let count = 0; count < 4; count++) (await pool.acquire()).release(true);
  await expect(pool.acquire()).rejects.toThrow('wait for a synchronous standby');
  await expect(pool.acquire()).rejects.toThrow('wait for a synchronous standby');
  processes.delete(1);
  const sessions = [await pool.acquire(), await pool.acquire()];
  for (const session of sessions) session.release(false);
});

it('closes once all sessions are released, and makes later callers wait', async () => {
  const { pool, end } = openPool(2);
  const session = await pool.acquire();
  const closing = pool.close();
  const later = pool.acquire();
  await nextTurn();
  expect(end).not.toHaveBeenCalled();
  session.release(false);
  await closing;
  expect(end).toHaveBeenCalledTimes(1);
  expect(await Promise.race([later, nextTurn('waits')])).toBe('waits');
});

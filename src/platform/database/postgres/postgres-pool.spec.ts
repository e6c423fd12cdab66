import { expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { Pool } from 'pg';
import { PostgresPool } from './postgres-pool.js';

/** Opens connections to server processes that live on when their connections are closed. */
function openPool(size: number): { pool: PostgresPool; processes: Set<number> } {
  const processes = new Set<number>();
  const connect = (): unknown => {
    const processID = processes.size + 1;
    processes.add(processID);
    return Promise.resolve(
      Object.assign(new EventEmitter(), { processID, release: () => undefined }),
    );
  };
  const findAlive = (wanted: readonly number[]): Promise<number[]> =>
    Promise.resolve(wanted.filter((one) => processes.has(one)));
  const driverPool = { connect } as unknown as Pool;
  return { pool: new PostgresPool(driverPool, size, findAlive), processes };
}

it('opens no further connections beside too many that live on after they broke', async () => {
  const { pool, processes } = openPool(2);
  for (let count = 0; count < 4; count++) (await pool.acquire()).release(true);
  for (let count = 0; count < 10; count++) {
    await expect(pool.acquire()).rejects.toThrow('Commits wait on the server');
  }
  expect(processes.size).toBe(4);
  processes.delete(1);
  const sessions = [await pool.acquire(), await pool.acquire()];
  for (const session of sessions) session.release(false);
});

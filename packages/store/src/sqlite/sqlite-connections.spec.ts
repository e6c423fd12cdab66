import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PooledSession, Session } from '../engine/engine.js';
import { TimeLimits, WAIT_TIMEOUT_MS } from '../engine/time-limits.js';
import { inNewFolder } from '../../../../test/support/new-folder.js';
import { SqliteConnection } from './sqlite-connection.js';
import { divideThreads, SqliteConnections, type Turn } from './sqlite-connections.js';

afterEach(() => {
  jest.useRealTimers();
});

const MODULE_READERS = 2;

async function open(folder: string, pages = 1): Promise<SqliteConnections> {
  const readers = { pages, modules: MODULE_READERS };
  return await SqliteConnections.open(join(folder, 'store.db'), new TimeLimits(), readers);
}

it.each([
  [1, 1, 1],
  [1, 4, 1],
  [1, 8, 5],
  [5, 8, 1],
  [2, 5, 1],
  [32, 128, 94],
])('with %d readers of pages and %d threads, %d modules read', (pages, threads, modules) => {
  expect(divideThreads(pages, threads)).toEqual({ pages, modules });
});

it.each([
  [2, 4],
  [6, 8],
])('%d readers of pages are refused with %d threads', (pages, threads) => {
  expect(() => divideThreads(pages, threads)).toThrow(`set UV_THREADPOOL_SIZE=${pages + 3} in`);
});

it('several readers of pages each see what was committed when they began, and a close waits for all', async () => {
  await inNewFolder(async (folder) => {
    const connections = await open(folder, 2);
    const write = async (text: string): Promise<void> => {
      const session = await connections.writers.acquire();
      await session.transaction(() => execute(session, text));
      await session.release(false);
    };
    await write('CREATE TABLE plants (id)');
    const count = async (session: PooledSession): Promise<unknown> =>
      (await execute(session, 'SELECT count(*) AS count FROM plants'))[0];
    const first = await connections.pageReaders.acquire();
    await execute(first, 'BEGIN');
    expect(await count(first)).toEqual({ count: 0 });
    await write('INSERT INTO plants VALUES (1)');
    const second = await connections.pageReaders.acquire();
    expect([await count(first), await count(second)]).toEqual([{ count: 0 }, { count: 1 }]);
    await execute(first, 'COMMIT');
    const third = connections.pageReaders.acquire();
    await first.release(false);
    await (await third).release(false);
    let isClosed = false;
    const closed = connections.close().then(() => (isClosed = true));
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(isClosed).toBe(false);
    await second.release(false);
    await closed;
  });
});
it('refuses a module that reads once it has waited too long for others to end', async () => {
  await inNewFolder(async (folder) => {
    const connections = await open(folder);
    const read = (): Promise<Turn> => connections.take('read', new Error('reads'));
    const readers: Turn[] = [];
    while (readers.length < MODULE_READERS) readers.push(await read());
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const refused = expect(read()).rejects.toThrow(/No turn to read was free[^]*Error: reads/);
    jest.advanceTimersByTime(WAIT_TIMEOUT_MS + 1);
    await refused;
    for (const reader of readers) await reader.end('closed');
    await connections.close();
  });
});

it('gives a turn back for which no connection could be opened', async () => {
  await inNewFolder(async (folder) => {
    const connections = await open(folder);
    const [store, elsewhere] = [join(folder, 'store.db'), join(folder, 'elsewhere')];
    renameSync(store, elsewhere);
    await expect(connections.take('write', new Error('missing'))).rejects.toThrow();
    renameSync(elsewhere, store);
    const turn = await connections.take('write', new Error('present'));
    await turn.end('closed');
    await connections.close();
  });
});

it('creates the folders of two stores that are opened at the same time', async () => {
  await inNewFolder(async (folder) => {
    const stores = ['one', 'other'].map((name) => open(join(folder, 'data', name)));
    for (const store of await Promise.all(stores)) await store.close();
  });
});

it.each(['rowReaders', 'pageReaders'] as const)(
  'aborts a statement of the %s for which nobody waits any more',
  async (readers) => {
    const text = 'WITH RECURSIVE endless(i) AS (SELECT 1 UNION ALL SELECT i FROM endless)';
    const endless = { name: 'endless', text: `${text} SELECT count(*) FROM endless` };
    await inNewFolder(async (folder) => {
      const pool = await open(folder);
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
      const session = await pool[readers].acquire();
      let error: unknown;
      session.query(endless, []).catch((reason: unknown) => (error = reason));
      while (error === undefined) {
        jest.advanceTimersByTime(WAIT_TIMEOUT_MS);
        await nextTurn();
      }
      expect(error).toMatchObject({ code: 'SQLITE_INTERRUPT' });
      await session.release(true);
      const next = await pool[readers].acquire();
      expect(await next.query({ name: 'one', text: 'SELECT 1 AS one' }, [])).toEqual([{ one: 1 }]);
      await next.release(false);
      await pool.close();
    });
  },
);

async function execute(session: Session, text: string): Promise<unknown[]> {
  return await session.query({ name: text, text }, []);
}

/** Lets a connection fail with these statements, one after another, as on a sick disk. */
function failNext(connection: SqliteConnection, failing: string[]): void {
  const exec = connection.exec.bind(connection);
  connection.exec = (sql) => {
    if (sql !== failing[0]) return exec(sql);
    failing.shift();
    return Promise.reject(new Error('disk I/O error'));
  };
}

it.each([
  ['is cleaned', ['COMMIT', 'ROLLBACK']],
  ['is replaced', ['COMMIT', 'ROLLBACK', 'ROLLBACK']],
])(
  'keeps every batch that was committed after a failed one, whose connection %s',
  async (_, endings) => {
    await inNewFolder(async (folder) => {
      const connections = await open(folder);
      const { writers } = connections;
      const ids = Array.from({ length: 100 }, (_, index) => ({ id: index + 1 }));
      const write = async (session: PooledSession, id: number): Promise<void> => {
        await session.transaction(() => execute(session, `INSERT INTO plants VALUES (${id})`));
        await session.release(false);
      };
      const first = await writers.acquire();
      await execute(first, 'CREATE TABLE plants (id)');
      await first.release(false);
      for (const { id } of ids) {
        const broken = await writers.acquire();
        const next = writers.acquire().then((session) => write(session, id));
        const failing = [...endings];
        failNext((broken as unknown as Turn).connection, failing);
        await expect(write(broken, -id)).rejects.toThrow('could not be rolled back');
        await broken.release(true);
        await next;
        expect(failing).toEqual([]);
      }
      const reader = await connections.rowReaders.acquire();
      expect(await execute(reader, 'SELECT id FROM plants ORDER BY id')).toEqual(ids);
      await reader.release(false);
      await connections.close();
    });
  },
);

describe('the write-ahead log', () => {
  /** More than the log may have. */
  const MANY = 20 * 1_024 * 1_024;
  const LIMIT = 16 * 1_024 * 1_024;

  async function write(connections: SqliteConnections, bytes: number): Promise<void> {
    const session = await connections.writers.acquire();
    await execute(session, 'CREATE TABLE IF NOT EXISTS notes (text)');
    await execute(session, `INSERT INTO notes VALUES (zeroblob(${bytes}))`);
    session.assertSameStore();
    await session.release(false);
  }

  it('is copied into the store when it has a thousand pages', async () => {
    await inNewFolder(async (folder) => {
      const connections = await open(folder);
      const bytes = 1_000 * 4_096;
      await write(connections, bytes / 2);
      expect(statSync(join(folder, 'store.db')).size).toBeLessThan(bytes);
      await write(connections, bytes / 2);
      expect(statSync(join(folder, 'store.db')).size).toBeGreaterThan(bytes);
      await connections.close();
    });
  });

  it('is emptied between two reads of modules, of which there may be no end', async () => {
    await inNewFolder(async (folder) => {
      const connections = await open(folder);
      await write(connections, 1);
      const read = (): Promise<Turn> => connections.take('read', new Error('reads'));
      const readers: Turn[] = [];
      while (readers.length < MODULE_READERS) readers.push(await read());
      for (const { connection } of readers) {
        await connection.exec('BEGIN');
        await connection.all('SELECT count(*) FROM notes');
      }
      await write(connections, MANY);
      expect(statSync(join(folder, 'store.db-wal')).size).toBeGreaterThan(LIMIT);
      const next = read();
      for (const reader of readers) {
        await reader.connection.exec('COMMIT');
        await reader.end('shared');
      }
      await (await next).end('shared');
      expect(statSync(join(folder, 'store.db-wal')).size).toBe(0);
      await write(connections, 1);
      await connections.close();
    });
  });

  it('gives its disk space back after another process has read for long', async () => {
    await inNewFolder(async (folder) => {
      const connections = await open(folder);
      await write(connections, 1);
      const other = await SqliteConnection.open(join(folder, 'store.db'));
      await other.exec('BEGIN');
      await other.all('SELECT count(*) FROM notes');
      for (const bytes of [MANY, MANY, 1]) await write(connections, bytes);
      expect(statSync(join(folder, 'store.db-wal')).size).toBeGreaterThan(2 * MANY);
      await other.exec('COMMIT');
      await other.close();
      for (const bytes of [1, 1, 1]) await write(connections, bytes);
      expect(statSync(join(folder, 'store.db-wal')).size).toBeLessThanOrEqual(LIMIT);
      await connections.close();
    });
  });
});

it('a closed store refuses at once', async () => {
  await inNewFolder(async (folder) => {
    const connections = await open(folder);
    await connections.close();
    await expect(connections.writers.acquire()).rejects.toThrow('The store is closed');
  });
});

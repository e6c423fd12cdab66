import Database from 'better-sqlite3';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { PostgresServer } from '../test/support/postgres-server.js';

/** Where contestants store plants: each has a folder, and a database of its own. */
export interface Engine {
  /** Creates the database of the contestant in this folder. Resolves with its DATABASE_URL. */
  readonly open: (folder: string) => Promise<string>;
  /** Executes a statement in it. */
  readonly query: (folder: string, sql: string) => Promise<unknown[]>;
  /** The statement after a table was filled. */
  readonly tidy: string;
  readonly close: () => Promise<void>;
}

const FILE = 'plants.db';

export function openSqlite(): Engine {
  return {
    open: () => Promise.resolve(`sqlite:${FILE}`),
    query: (folder, sql) => {
      const database = new Database(path.join(folder, FILE));
      const statement = database.prepare(sql);
      const rows = statement.reader ? statement.all() : [statement.run()];
      database.close();
      return Promise.resolve(rows);
    },
    tidy: 'PRAGMA wal_checkpoint',
    close: () => Promise.resolve(),
  };
}

/** Starts a PostgreSQL server with its shipped settings, and its data in this folder. */
export async function openPostgres(parent: string): Promise<Engine> {
  // The server runs as another user when this program runs as root.
  await chmod(parent, 0o755);
  process.env.TMPDIR = parent;
  const server = await PostgresServer.start();
  const url = (folder: string): string => server.url(path.basename(folder));
  const query = async (database: string, sql: string): Promise<unknown[]> => {
    const client = new pg.Client(database);
    await client.connect();
    const { rows } = await client.query<object>(sql);
    await client.end();
    return rows;
  };
  return {
    open: async (folder) => {
      await query(server.url(), `CREATE DATABASE "${path.basename(folder)}"`);
      return url(folder);
    },
    query: (folder, sql) => query(url(folder), sql),
    tidy: 'VACUUM ANALYZE plants',
    close: () => server.remove(),
  };
}

/** Fills the table that a contestant has created with plants, with ids from 1. */
export async function fill(engine: Engine, folder: string, rows: number): Promise<void> {
  await engine.query(
    folder,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
     INSERT INTO plants (id, name, tag) SELECT i, 'Monstera deliciosa', 'indoor' FROM n`,
  );
  await engine.query(folder, engine.tidy);
}

/** Counts the plants, or those with this tag. */
export async function count(engine: Engine, folder: string, tag?: string): Promise<number> {
  const condition = tag === undefined ? '' : `WHERE tag = '${tag}'`;
  const sql = `SELECT count(*) AS count FROM plants ${condition}`;
  const [row] = (await engine.query(folder, sql)) as [{ count: number | string }];
  return Number(row.count);
}

import Database from 'better-sqlite3';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { PostgresServer } from '../test/support/postgres-server.js';

/** Where contestants store plants: each has a folder, and a database of its own. */
export interface Engine {
  /** The value of DATABASE_URL for the contestant in this folder. */
  readonly url: (folder: string) => string;
  readonly create: (folder: string) => Promise<void>;
  /** Fills the table that the contestant has created with plants, with ids from 1. */
  readonly fill: (folder: string, rows: number) => Promise<void>;
  /** Counts the plants, or those with this tag. */
  readonly count: (folder: string, tag?: string) => Promise<number>;
  readonly close: () => Promise<void>;
}

const FILE = 'plants.db';
const COUNT = 'SELECT count(*) AS count FROM plants';

export function openSqlite(): Engine {
  const query = (folder: string, sql: string, ...values: unknown[]): unknown[] => {
    const database = new Database(path.join(folder, FILE));
    try {
      const statement = database.prepare(sql);
      if (statement.reader) return statement.all(...values);
      statement.run(...values);
      return [];
    } finally {
      database.close();
    }
  };
  return {
    url: () => `sqlite:${FILE}`,
    create: () => Promise.resolve(),
    fill: (folder, rows) => {
      query(
        folder,
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?)
         INSERT INTO plants (id, name, tag) SELECT i, 'Monstera deliciosa', 'indoor' FROM n`,
        rows,
      );
      return Promise.resolve();
    },
    count: (folder, tag) => {
      const condition = tag === undefined ? '' : ' WHERE tag = ?';
      const values = tag === undefined ? [] : [tag];
      return Promise.resolve(readCount(query(folder, COUNT + condition, ...values)));
    },
    close: () => Promise.resolve(),
  };
}

/** Starts a PostgreSQL server with its shipped settings, and its data in this folder. */
export async function openPostgres(folder: string): Promise<Engine> {
  // The server runs as another user when this program runs as root.
  await chmod(folder, 0o755);
  process.env.TMPDIR = folder;
  const server = await PostgresServer.start();
  const url = (own: string): string => server.url(path.basename(own));
  return {
    url,
    create: async (own) => {
      await query(server.url(), `CREATE DATABASE "${path.basename(own)}"`);
    },
    fill: async (own, rows) => {
      await query(
        url(own),
        `INSERT INTO plants (id, name, tag)
         SELECT id, 'Monstera deliciosa', 'indoor' FROM generate_series(1, $1::int) AS id`,
        rows,
      );
      await query(url(own), 'VACUUM ANALYZE plants');
    },
    count: async (own, tag) => {
      const condition = tag === undefined ? '' : ' WHERE tag = $1';
      const values = tag === undefined ? [] : [tag];
      return readCount(await query(url(own), COUNT + condition, ...values));
    },
    close: () => server.remove(),
  };
}

async function query(url: string, sql: string, ...values: unknown[]): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<object>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

function readCount(rows: unknown[]): number {
  return Number((rows as [{ count: number | string }])[0].count);
}

import pg from 'pg';
import { SqliteConnection } from '../src/platform/database/sqlite/sqlite-connection.js';

/** Executes a statement in the database of a contestant, by its DATABASE_URL. */
export async function query(url: string, sql: string): Promise<unknown[]> {
  if (url.startsWith('sqlite:')) {
    const connection = await SqliteConnection.open(url.replace('sqlite:', ''));
    return await connection.all(sql).finally(() => connection.close());
  }
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<object>(sql).finally(() => client.end());
  return rows;
}

/** Fills the table that a contestant has created with plants, with ids from 1. */
export async function fill(url: string, rows: number): Promise<void> {
  await query(
    url,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
     INSERT INTO plants (id, name, tag) SELECT i, 'Monstera deliciosa', 'indoor' FROM n`,
  );
  const isSqlite = url.startsWith('sqlite:');
  await query(url, isSqlite ? 'PRAGMA wal_checkpoint(TRUNCATE)' : 'VACUUM ANALYZE plants');
}

/** Counts the plants for which a condition holds. */
export async function count(url: string, condition: string): Promise<number> {
  const sql = `SELECT count(*) AS count FROM plants WHERE ${condition}`;
  const [row] = (await query(url, sql)) as [{ count: number | string }];
  return Number(row.count);
}

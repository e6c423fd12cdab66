import pg from 'pg';
import { SqliteConnection } from '../packages/store/src/sqlite/sqlite-connection.js';

/** Executes a statement in the database of a contestant, by its DATABASE_URL. */
export async function query(url: string, sql: string): Promise<unknown[]> {
  if (url.startsWith('sqlite:')) {
    const connection = await SqliteConnection.open(url.replace('sqlite:', ''));
    // SQLite adds only columns that it computes when it reads them.
    const own = sql.replace('STORED', 'VIRTUAL');
    return await connection.all(own).finally(() => connection.close());
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

/** Reads the process id of a PostgreSQL server, the first line of a file. */
export async function readServerPid(url: string): Promise<string> {
  const [row] = await query(
    url,
    "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid",
  );
  return (row as { pid: string }).pid;
}

/** Reads the version of the engine of a database. */
export async function readVersion(url: string): Promise<string> {
  const isSqlite = url.startsWith('sqlite:');
  const sql = isSqlite
    ? "SELECT 'SQLite ' || sqlite_version() AS version"
    : "SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1) AS version";
  const [row] = (await query(url, sql)) as [{ version: string }];
  return row.version;
}

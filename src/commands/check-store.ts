import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CommandError, formatSize } from './command.js';
import { describeSqliteError } from '../platform/database/sqlite/sqlite-errors.js';
import { compareMigrations } from '../platform/database/data-source/migrate-schema.js';
import { schema } from '../schema.js';
import { SqliteReader } from './sqlite-reader.js';

/** A line for each table of a store, and the faults of the store. */
export interface StoreReport {
  readonly contents: string[];
  readonly faults: string[];
}

/**
 * Checks a SQLite store, as of one moment, without changing it.
 *
 * @throws CommandError when there is no file
 */
export async function checkStore(path: string): Promise<StoreReport> {
  const store = await SqliteReader.open(path, 'ro');
  try {
    await store.all('BEGIN');
    const tables = await listTables(store);
    const schema = await describeSchema(store, tables);
    const contents = [`schema: ${schema.description}`];
    for (const table of tables) {
      if (table !== 'migrations') contents.push(await describeContents(store, table));
    }
    const [size, logSize] = await Promise.all([getSize(path), getSize(`${path}-wal`)]);
    contents.push(`size: ${formatSize(size)}, and ${formatSize(logSize)} in the log`);
    return { contents, faults: [...schema.faults, ...(await store.findIntegrityFaults())] };
  } catch (error) {
    const reason = describeSqliteError(error);
    if (reason === undefined) throw error;
    throw new CommandError(`${resolve(path)} cannot be read: ${reason}`, { cause: error });
  } finally {
    await store.close();
  }
}

async function listTables(store: SqliteReader): Promise<string[]> {
  const rows = await store.all<{ name: string }>(
    `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0
     AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}

async function describeSchema(
  store: SqliteReader,
  tables: readonly string[],
): Promise<{ description: string; faults: string[] }> {
  if (!tables.includes('migrations')) {
    throw new CommandError('This file is not a store that this program made');
  }
  const rows = await store.all<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  const { unknown, missing } = compareMigrations(listMigrations(), rows);
  const next = missing.length > 0 ? `, the next start adds ${missing.join(', ')}` : '';
  return {
    description: `${rows.at(-1)?.name ?? 'none'}${next}`,
    faults: unknown.map((name) => `the schema is newer than this program: ${name}`),
  };
}

function listMigrations(): string[] {
  return schema.migrations.map(({ name }) => name);
}

/** Describes the number of rows and, for an integer key of one column, the least and the greatest key. */
async function describeContents(store: SqliteReader, table: string): Promise<string> {
  const [key, ...otherKeys] = await store.all<{ name: string; type: string }>(
    'SELECT name, upper(type) AS type FROM pragma_table_info(?) WHERE pk > 0',
    table,
  );
  // Such a key is the rowid.
  const [row] = await store.all<{ rows: number; least: string; greatest: string }>(
    `SELECT count(*) AS rows, CAST(min(rowid) AS TEXT) AS least,
     CAST(max(rowid) AS TEXT) AS greatest FROM "${table.replaceAll('"', '""')}"`,
  );
  if (row === undefined || row.rows === 0) return `${table}: 0`;
  const hasIds = key?.type === 'INTEGER' && otherKeys.length === 0;
  const ids = hasIds ? `, ${key.name} from ${row.least} to ${row.greatest}` : '';
  return `${table}: ${row.rows}${ids}`;
}

async function getSize(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

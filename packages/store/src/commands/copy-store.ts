import type { EntityMetadata } from 'typeorm';
import { parseDatabaseUrl } from '../open/database-url.js';
import {
  createStoreOptions,
  openDatabase,
  type Schema,
  type StoreOptions,
} from '../open/open-database.js';
import type { StoreDataSource } from '../engine/store-data-source.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import { JobRun } from '../repositories/jobs.js';
import { copyRows, type TableCopy } from './copy-rows.js';
import { assertNoCompanion, useStoreFile } from './sqlite-file.js';
import { readMigrations } from './store-migrations.js';

/** The tables of the program that are not entities. */
const OWN_TABLES = ['migrations', 'typeorm_metadata', 'changes', 'change_feed'];

/**
 * Copies every row of one store into another, on the same or another engine. Rows that the target
 * has already are compared and kept, so a second run completes an interrupted copy. Recorded
 * changes and the runs of jobs are not copied, since each store has its own.
 *
 * @param schema of both stores
 * @param from the store to read, as in DATABASE_URL; no program may write to it during the copy
 * @param to the store to write; its schema is brought up to date
 * @param onProgress gets the number of rows that have been read, and of all rows, again and again
 * @returns the number of rows of each table, which both stores then have
 * @throws DatabaseStartError when a store cannot be used, or the target has a different row
 * @example
 * ```ts
 * const counts = await copyStore(schema, 'sqlite:data/store.db', 'postgres://db.example.com/plants');
 * for (const [table, rows] of counts) console.log(`${table}: ${rows}`);
 * ```
 */
export async function copyStore(
  schema: Schema,
  from: string,
  to: string,
  onProgress: CopyProgress = () => undefined,
): Promise<Map<string, number>> {
  const [sourceOptions, targetOptions] = [toOptions(schema, from), toOptions(schema, to)];
  if (from === to) throw new DatabaseStartError('Name two different stores');
  // To open another file as a store would change it.
  if (sourceOptions.type === 'sqlite') {
    await useStoreFile(sourceOptions.database, 'read', schema, () => undefined);
  }
  const source = await openSource(sourceOptions, schema);
  try {
    const target = await openDatabase(targetOptions);
    return await copyTables(source, target, onProgress).finally(() => target.destroy());
  } finally {
    await source.destroy();
  }
}

/** Opens a store without changing its schema, which must be the schema of this program. */
async function openSource(options: StoreOptions, schema: Schema): Promise<StoreDataSource> {
  return await openDatabase(options, async (source) => {
    await source.initialize();
    const { unknown, missing } = await readMigrations(source.location, schema, (sql) =>
      source.query(sql),
    );
    if (unknown.length > 0) {
      throw new DatabaseStartError('The store to copy from is newer than this program');
    }
    if (missing.length > 0) {
      throw new DatabaseStartError(
        'The store to copy from is older than this program: start the program on it first',
      );
    }
  });
}

function toOptions(schema: Schema, url: string): StoreOptions {
  if (parseDatabaseUrl(url) === undefined) {
    throw new DatabaseStartError(
      'A store is named as in DATABASE_URL: sqlite:<path> or postgres://...',
    );
  }
  assertNoCompanion(url);
  return createStoreOptions({ url, poolSize: 2 }, schema);
}

type CopyProgress = (done: number, total: number) => void;

async function copyTables(
  source: StoreDataSource,
  target: StoreDataSource,
  onProgress: CopyProgress,
): Promise<Map<string, number>> {
  const copied = new Map<string, number>();
  const tables = source.entityMetadatas.filter(
    ({ target, tableType }) =>
      target !== JobRun && tableType !== 'view' && tableType !== 'entity-child',
  );
  await warnOfOtherTables(source);
  const counts = await Promise.all(tables.map(({ tableName }) => countRows(source, tableName)));
  const total = counts.reduce((sum, count) => sum + count, 0);
  let done = 0;
  const onRows = (rows: number): void => {
    done += rows;
    onProgress(done, total);
  };
  let left = tables;
  while (left.length > 0) {
    const incomplete: EntityMetadata[] = [];
    let created = 0;
    for (const metadata of left) {
      const copy = await copyRows(source, target, metadata, onRows);
      await finishTable(target, metadata, copy);
      created += copy.created;
      if (copy.orphans > 0) incomplete.push(metadata);
      else copied.set(metadata.tableName, copy.rows);
    }
    const [first] = incomplete;
    if (created === 0 && first !== undefined) {
      throw new DatabaseStartError(`${first.tableName} has rows that refer to missing rows`);
    }
    // A row may refer to a row that is copied after it, which is there the next time.
    left = incomplete;
  }
  return copied;
}

/** Says which tables of the store belong to no entity, and are not copied. */
async function warnOfOtherTables(source: StoreDataSource): Promise<void> {
  const tables = await source.query<{ name: string }[]>(
    source.options.type === 'postgres'
      ? 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()'
      : `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'`,
  );
  const known = [...source.entityMetadatas.map(({ tableName }) => tableName), ...OWN_TABLES];
  const others = tables.map(({ name }) => name).filter((name) => !known.includes(name));
  if (others.length === 0) return;
  console.warn(`Not copied, since they are tables of no entity: ${others.join(', ')}`);
}

/** @throws DatabaseStartError when the target has further rows */
async function finishTable(
  target: StoreDataSource,
  metadata: EntityMetadata,
  { rows, orphans }: TableCopy,
): Promise<void> {
  await raiseCounters(target, metadata);
  const stored = await countRows(target, metadata.tableName);
  if (orphans > 0 || stored === rows) return;
  throw new DatabaseStartError(
    `${metadata.tableName} has ${rows} rows in the first store and ${stored} in the second: does a program write to one of them?`,
  );
}

async function countRows(store: StoreDataSource, table: string): Promise<number> {
  const query = store.createQueryBuilder().from(table, 'counted').select('COUNT(*)', 'count');
  return Number((await query.getRawOne<{ count: unknown }>())?.count);
}

/** Lets keys that PostgreSQL generates continue after the copied ones. SQLite does so by itself. */
async function raiseCounters(target: StoreDataSource, metadata: EntityMetadata): Promise<void> {
  if (target.options.type !== 'postgres') return;
  for (const { generationStrategy, databaseName } of metadata.generatedColumns) {
    if (generationStrategy !== 'increment') continue;
    const [table, column] = [metadata.tableName, databaseName].map((name) =>
      target.driver.escape(name),
    );
    await target.query(
      `SELECT setval(pg_get_serial_sequence($1, $2), (SELECT max(${column}) FROM ${table}))`,
      [table, databaseName],
    );
  }
}

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import { parseDatabaseUrl } from '../platform/config/database-url.js';
import { BatchedRepository } from '../platform/database/batched-repository.js';
import { isBytes } from '../platform/database/batching/entity-columns.js';
import { ConstraintError } from '../platform/database/constraint.error.js';
import {
  createDataSourceOptions,
  openDatabase,
  type StoreOptions,
} from '../platform/database/data-source/open-database.js';
import {
  compareMigrations,
  DatabaseStartError,
  type StoreDataSource,
} from '../platform/database/data-source/store-data-source.js';
import { JobRun } from '../platform/database/jobs.js';
import { schema } from '../schema.js';
import { CommandError } from './command.js';
import { assertNoCompanion } from './sqlite-file.js';

/** How many rows are copied at a time. A row may have 100 KB. */
const PAGE_ROWS = 100;

/**
 * Copies every row of one store into another, on the same or another engine. Rows that the target
 * has already are compared and kept, so a second run completes an interrupted copy. Recorded changes
 * and the runs of jobs are not copied, since each store has its own.
 *
 * @param from the store to read, as in DATABASE_URL; no program may write to it meanwhile
 * @param to the store to write; its schema is brought up to date
 * @returns the number of rows of each table, which both stores then have
 * @throws CommandError, DatabaseStartError
 */
export async function copyStore(from: string, to: string): Promise<Map<string, number>> {
  const [sourceOptions, targetOptions] = [toOptions(from), toOptions(to)];
  if (from === to) throw new CommandError('Name two different stores');
  if (sourceOptions.type === 'sqlite' && !existsSync(sourceOptions.database)) {
    throw new CommandError(`There is no store to copy from at ${resolve(sourceOptions.database)}`);
  }
  const source = await openSource(sourceOptions);
  try {
    const target = await openDatabase(targetOptions);
    return await copyTables(source, target).finally(() => target.destroy());
  } finally {
    await source.destroy();
  }
}

/** Opens a store without changing its schema, which must be that of this program. */
async function openSource(options: StoreOptions): Promise<StoreDataSource> {
  return await openDatabase(options, async (source) => {
    await source.initialize();
    const executed = await source.query<{ name: string }[]>('SELECT name FROM migrations');
    const { unknown, missing } = compareMigrations(source.migrationNames, executed);
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

function toOptions(url: string): StoreOptions {
  if (parseDatabaseUrl(url) === undefined) {
    throw new CommandError('A store is named as in DATABASE_URL: sqlite:<path> or postgres://...');
  }
  assertNoCompanion(url);
  return createDataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_SIZE: 2 }, schema);
}

async function copyTables(
  source: StoreDataSource,
  target: StoreDataSource,
): Promise<Map<string, number>> {
  const copied = new Map<string, number>();
  let left = source.entityMetadatas.filter((metadata) => metadata.target !== JobRun);
  while (left.length > 0) {
    const incomplete: EntityMetadata[] = [];
    let created = 0;
    for (const metadata of left) {
      const copy = await copyTable(source, target, metadata);
      created += copy.created;
      if (copy.orphans > 0) incomplete.push(metadata);
      else copied.set(metadata.tableName, copy.rows);
    }
    const [first] = incomplete;
    if (created === 0 && first !== undefined) {
      throw new CommandError(`${first.tableName} has rows that refer to missing rows`);
    }
    // A row may refer to a row that is copied after it, which is there the next time.
    left = incomplete;
  }
  return copied;
}

/** @throws CommandError when the target has another row with the key of a row, or further rows */
async function copyTable(
  source: StoreDataSource,
  target: StoreDataSource,
  metadata: EntityMetadata,
): Promise<{ rows: number; created: number; orphans: number }> {
  const from = new BatchedRepository(source.getRepository<ObjectLiteral>(metadata.target));
  const to = new BatchedRepository(target.getRepository<ObjectLiteral>(metadata.target));
  const table = metadata.tableName;
  const copy = { rows: 0, created: 0, orphans: 0 };
  for await (const page of readPages(from, metadata)) {
    const { created, failures } = await to.createAll(page);
    for (const failure of failures.values()) {
      if (failure === 'different') {
        throw new CommandError(
          `${table} of the target has another row with the key of a row to copy: nothing is overwritten`,
        );
      }
      if (!(failure instanceof ConstraintError) || failure.kind !== 'foreign key') throw failure;
      copy.orphans++;
    }
    copy.rows += page.length;
    copy.created += created;
  }
  await raiseCounters(target, metadata);
  const stored = await target.getRepository(metadata.target).count();
  if (copy.orphans > 0 || stored === copy.rows) return copy;
  throw new CommandError(
    `${table} has ${copy.rows} rows in the first store and ${stored} in the second: does a program write to one of them?`,
  );
}

async function* readPages(
  from: BatchedRepository<ObjectLiteral>,
  { columns, primaryColumns }: EntityMetadata,
): AsyncGenerator<readonly ObjectLiteral[]> {
  const bytes = columns.filter(isBytes).map(({ propertyName }) => propertyName);
  const [key = '', ...otherKeys] = primaryColumns.map(({ propertyName }) => propertyName);
  let after: string | undefined;
  do {
    const page = await from.list({ limit: PAGE_ROWS, after });
    if (bytes.length === 0) yield page.rows;
    else {
      // Pages are without bytes. A row that has some may be long, and is copied alone.
      for (const row of page.rows) {
        const rowKey: unknown = otherKeys.length === 0 ? row[key] : row;
        for (const property of bytes) row[property] = await from.readBytes(rowKey, property);
        yield [row];
      }
    }
    after = page.next;
  } while (after !== undefined);
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

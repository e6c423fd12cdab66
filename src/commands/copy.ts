import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import { keyOf } from '../database/bulk-table.js';
import { CommandError } from './command.js';
import { dataSourceOptions } from '../database/data-source-options.js';
import { parseDatabaseUrl } from '../config/database-url.js';
import { createDataSource, openDatabase } from '../database/open-database.js';
import { schema } from '../schema.js';
import {
  compareMigrations,
  DatabaseStartError,
  type StoreDataSource,
} from '../database/store-data-source.js';

/** How many rows travel at once. */
const PAGE_ROWS = 1_000;

/** How often progress is told, in milliseconds. */
const PROGRESS_INTERVAL = 2_000;

/** The types whose values mean the same on every engine. */
const COLUMN_TYPES = ['text', 'varchar', 'integer', 'int', 'smallint', 'bigint'];

/** A table that is the same in both stores. */
export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
  /** Of all rows, in any order. */
  readonly digest: string;
}

/**
 * Copies every row of one store into another, on whichever engines, and then compares the two. What
 * is there already is left alone, so an interrupted copy is finished by another.
 *
 * @param from where to read, as in DATABASE_URL; no program may write to it meanwhile
 * @param to where to write; its schema is brought up to date
 * @param onProgress takes a line of progress
 * @throws CommandError, DatabaseStartError
 */
export async function copyStore(
  from: string,
  to: string,
  onProgress: (line: string) => void,
): Promise<CopiedTable[]> {
  if (from === to) throw new CommandError('The two stores are the same');
  const source = await openSource(from);
  try {
    const target = await openDatabase(optionsOf(to));
    try {
      const copied: CopiedTable[] = [];
      for (const metadata of source.entityMetadatas) {
        refuseOtherTypes(metadata);
        await copyTable(source, target, metadata, onProgress);
        copied.push(await compare(source, target, metadata, onProgress));
      }
      return copied;
    } finally {
      await target.destroy();
    }
  } finally {
    await source.destroy();
  }
}

/** Opens a store as it is: it is not made, and its schema is not touched. */
async function openSource(from: string): Promise<StoreDataSource> {
  const options = optionsOf(from);
  if (options.type === 'sqlite' && !existsSync(options.database)) {
    throw new CommandError('There is no store to copy from');
  }
  const source = createDataSource(options);
  try {
    await source.initialize();
  } catch (error) {
    throw new DatabaseStartError(
      `The store to copy from cannot be used: ${source.describeError(error)}`,
    );
  }
  const executed = await source
    .query<{ name: string }[]>('SELECT name FROM migrations')
    .catch(() => []);
  const { unknown, missing } = compareMigrations(source.migrationNames, executed);
  if (unknown.length + missing.length > 0) {
    await source.destroy();
    throw new CommandError(
      unknown.length > 0
        ? 'The store to copy from is newer than this program'
        : 'The store to copy from is older than this program, or not one of its own: start the program on it first',
    );
  }
  return source;
}

function optionsOf(url: string): ReturnType<typeof dataSourceOptions> {
  if (parseDatabaseUrl(url) === undefined) {
    throw new CommandError('A store is named as in DATABASE_URL: sqlite:<path> or postgres://...');
  }
  return dataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_SIZE: 2 }, schema);
}

function refuseOtherTypes({ columns, tableName }: EntityMetadata): void {
  const other = columns.find(({ type }) => !COLUMN_TYPES.includes(String(type)));
  if (other !== undefined) {
    throw new CommandError(
      `${tableName}.${other.databaseName} is of a type that differs between engines: teach src/database/copy.ts to copy it`,
    );
  }
}

async function copyTable(
  source: StoreDataSource,
  target: StoreDataSource,
  metadata: EntityMetadata,
  onProgress: (line: string) => void,
): Promise<void> {
  const { tableName, target: entity } = metadata;
  const repository = target.getRepository(entity);
  const table = target.bulkTable(repository);
  const key = keyOf(repository);
  let copied = 0;
  const progress = setInterval(
    () => onProgress(`${tableName}: ${copied} rows copied`),
    PROGRESS_INTERVAL,
  );
  try {
    for await (const rows of pagesOf(source, metadata)) {
      const created = await table.insertNew(rows);
      const others = rows.filter((row) => !created.has(String(row[key])));
      const identical = others.length > 0 ? await table.findIdentical(others) : new Set();
      const different = others.find((row) => !identical.has(row));
      if (different !== undefined) {
        throw new CommandError(
          `${tableName} already holds another row with the key ${String(different[key])}: nothing is overwritten`,
        );
      }
      copied += rows.length;
    }
  } finally {
    clearInterval(progress);
  }
}

async function compare(
  source: StoreDataSource,
  target: StoreDataSource,
  metadata: EntityMetadata,
  onProgress: (line: string) => void,
): Promise<CopiedTable> {
  const table = metadata.tableName;
  onProgress(`${table}: comparing`);
  const [before, after] = await Promise.all([
    digestOf(source, metadata),
    digestOf(target, metadata),
  ]);
  if (before.digest !== after.digest || before.rows !== after.rows) {
    throw new CommandError(
      `${table} differs: ${before.rows} rows in the first store, ${after.rows} in the second. Does a program write to one of them?`,
    );
  }
  return { table, ...before };
}

/** The sum of the rows' digests: it does not depend on how an engine sorts. */
async function digestOf(
  store: StoreDataSource,
  metadata: EntityMetadata,
): Promise<{ rows: number; digest: string }> {
  let rows = 0;
  let sum = 0n;
  for await (const page of pagesOf(store, metadata)) {
    for (const row of page) {
      sum += BigInt(`0x${hash('sha256', JSON.stringify(Object.values(row)))}`);
    }
    rows += page.length;
  }
  return { rows, digest: BigInt.asUintN(256, sum).toString(16).padStart(64, '0') };
}

/** All rows of a table, by its key. A 64-bit integer comes as a decimal string. */
async function* pagesOf(
  store: StoreDataSource,
  metadata: EntityMetadata,
): AsyncGenerator<ObjectLiteral[]> {
  const quote = (name: string): string => store.driver.escape(name);
  const table = quote(metadata.tableName);
  const columns = metadata.columns.map(({ type, databaseName }) => {
    const name = quote(databaseName);
    return type === 'bigint' ? `CAST(${name} AS TEXT) AS ${name}` : name;
  });
  const key = keyOf(store.getRepository(metadata.target));
  const qualifiedKey = `${table}.${quote(key)}`;
  const page = async (condition: string, parameters: unknown[]): Promise<ObjectLiteral[]> =>
    await store.query<ObjectLiteral[]>(
      `SELECT ${columns.join(', ')} FROM ${table} ${condition} ORDER BY ${qualifiedKey} LIMIT ${PAGE_ROWS}`,
      parameters,
    );
  let rows = await page('', []);
  while (rows.length > 0) {
    yield rows;
    rows = await page(`WHERE ${qualifiedKey} > $1`, [rows.at(-1)?.[key]]);
  }
}

import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import { parseDatabaseUrl } from '../platform/config/database-url.js';
import { createDataSourceOptions } from '../platform/database/data-source/data-source-options.js';
import { createDataSource, openDatabase } from '../platform/database/data-source/open-database.js';
import { compareMigrations } from '../platform/database/data-source/migrate-schema.js';
import {
  DatabaseStartError,
  type StoreDataSource,
} from '../platform/database/data-source/store-data-source.js';
import { BatchedRepository } from '../platform/database/batched-repository.js';
import { schema } from '../schema.js';
import { CommandError, formatCount } from './command.js';
import { beginEpochIn } from './begin-epoch.js';

/** How many rows are read at a time. */
const PAGE_ROWS = 1_000;

/** How often progress is reported, in milliseconds. */
const PROGRESS_INTERVAL_MS = 2_000;

/** A table that is the same in both stores. */
export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
  /** A digest of all rows, whatever their order. */
  readonly digest: string;
}

/**
 * Copies every row of one store into another, on the same or another engine, and then compares the
 * two. Existing rows are kept, so a second run completes an interrupted copy. Recorded changes are
 * not copied: if the target records changes, an epoch begins there.
 *
 * @param from the store to read, as in DATABASE_URL; no program may write to it meanwhile
 * @param to the store to write; its schema is brought up to date
 * @param onProgress gets a line of progress
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
    const target = await openDatabase(toOptions(to));
    try {
      const copied: CopiedTable[] = [];
      for (const metadata of sortParentsFirst(source.entityMetadatas)) {
        copied.push(await copyTable(source, target, metadata, onProgress));
      }
      await beginEpochIn(target);
      return copied;
    } finally {
      await target.destroy();
    }
  } finally {
    await source.destroy();
  }
}

/** Opens an existing store without changing its schema. */
async function openSource(from: string): Promise<StoreDataSource> {
  const options = toOptions(from);
  if (options.type === 'sqlite' && !existsSync(options.database)) {
    throw new CommandError(`There is no store to copy from at ${resolve(options.database)}`);
  }
  const source = createDataSource(options);
  try {
    await source.initialize();
  } catch (error) {
    throw new DatabaseStartError(
      `The store to copy from cannot be used, ${source.description}: ${source.describeError(error)}`,
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

function toOptions(url: string): ReturnType<typeof createDataSourceOptions> {
  if (parseDatabaseUrl(url) === undefined) {
    throw new CommandError('A store is named as in DATABASE_URL: sqlite:<path> or postgres://...');
  }
  return createDataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_SIZE: 2 }, schema);
}

/** Sorts tables so that each follows those that its foreign keys refer to. */
function sortParentsFirst(entities: readonly EntityMetadata[]): EntityMetadata[] {
  const sorted = new Set<EntityMetadata>();
  const add = (metadata: EntityMetadata, children: readonly EntityMetadata[]): void => {
    if (children.includes(metadata)) return;
    for (const { referencedEntityMetadata } of metadata.foreignKeys) {
      add(referencedEntityMetadata, [...children, metadata]);
    }
    sorted.add(metadata);
  };
  for (const metadata of entities) add(metadata, []);
  return [...sorted];
}

async function copyTable(
  source: StoreDataSource,
  target: StoreDataSource,
  metadata: EntityMetadata,
  onProgress: (line: string) => void,
): Promise<CopiedTable> {
  const table = metadata.tableName;
  const from = new BatchedRepository(source.getRepository(metadata.target));
  const to = new BatchedRepository(target.getRepository(metadata.target));
  let copied = 0;
  const report = (): void => onProgress(`${table}: ${formatCount(copied, 'row')} copied`);
  const progress = setInterval(report, PROGRESS_INTERVAL_MS);
  try {
    for await (const rows of readPages(from)) {
      const outcomes = await Promise.all(rows.map((row) => to.create(row)));
      const different = rows.find((_, index) => outcomes[index] === 'different');
      if (different !== undefined) {
        throw new CommandError(
          `${table} already holds another row with the key ${describeKey(different, metadata)}: nothing is overwritten`,
        );
      }
      copied += rows.length;
    }
  } finally {
    clearInterval(progress);
  }
  onProgress(`${table}: comparing`);
  const [before, after] = await Promise.all([
    digestTable(from, metadata),
    digestTable(to, metadata),
  ]);
  if (before.digest !== after.digest || before.rows !== after.rows) {
    throw new CommandError(
      `${table} differs: ${formatCount(before.rows, 'row')} in the first store, ${after.rows} in the second. Does a program write to one of them?`,
    );
  }
  return { table, ...before };
}

/** Adds up the digests of the rows, since engines may sort them differently. */
async function digestTable(
  rows: BatchedRepository<ObjectLiteral>,
  metadata: EntityMetadata,
): Promise<{ rows: number; digest: string }> {
  let count = 0;
  let sum = 0n;
  for await (const page of readPages(rows)) {
    for (const row of page) {
      const values = metadata.columns.map((column) => column.getEntityValue(row) as unknown);
      sum += BigInt(`0x${hash('sha256', JSON.stringify(values))}`);
    }
    count += page.length;
  }
  return { rows: count, digest: BigInt.asUintN(256, sum).toString(16).padStart(64, '0') };
}

/** Reads all rows of a table in the order of the key. */
async function* readPages(
  rows: BatchedRepository<ObjectLiteral>,
): AsyncGenerator<readonly ObjectLiteral[]> {
  let after: string | undefined;
  do {
    const page = await rows.list({ limit: PAGE_ROWS, after });
    if (page.rows.length > 0) yield page.rows;
    after = page.next;
  } while (after !== undefined);
}

function describeKey(row: ObjectLiteral, { primaryColumns }: EntityMetadata): string {
  return primaryColumns.map((column) => String(column.getEntityValue(row))).join(', ');
}

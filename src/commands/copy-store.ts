import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EntityMetadata } from 'typeorm';
import { parseDatabaseUrl } from '../platform/config/database-url.js';
import { createDataSourceOptions } from '../platform/database/data-source/data-source-options.js';
import { createDataSource, openDatabase } from '../platform/database/data-source/open-database.js';
import { compareMigrations } from '../platform/database/data-source/migrate-schema.js';
import {
  DatabaseStartError,
  type StoreDataSource,
} from '../platform/database/data-source/store-data-source.js';
import { JobRun } from '../platform/database/job-run.entity.js';
import { isFileOfStore } from '../platform/database/sqlite/store-files.js';
import { schema } from '../schema.js';
import { CommandError } from './command.js';
import { type CopiedTable, copyTable } from './copy-table.js';

/**
 * Copies every row of one store into another, on the same or another engine, and then compares the
 * two. Existing rows are kept, so a second run completes an interrupted copy. Recorded changes and the
 * states of jobs are not copied: each store has its own.
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
  assertApart(from, to);
  const source = await openSource(from);
  try {
    const target = await openDatabase(toOptions(to));
    try {
      const copied: CopiedTable[] = [];
      const entities = source.entityMetadatas.filter((metadata) => metadata.target !== JobRun);
      for (const metadata of sortParentsFirst(entities)) {
        copied.push(await copyTable(source, target, metadata, onProgress));
      }
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

/**
 * SQLite would take one store for the log of the other, and destroy it.
 *
 * @throws CommandError when the stores are the same, or one is a file of the other
 */
function assertApart(from: string, to: string): void {
  const [source, target] = [toOptions(from), toOptions(to)];
  const shareFiles =
    source.type === 'sqlite' &&
    target.type === 'sqlite' &&
    (isFileOfStore(target.database, source.database) ||
      isFileOfStore(source.database, target.database));
  if (from === to || shareFiles) {
    throw new CommandError('The two stores are the same, or one is a file of the other');
  }
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

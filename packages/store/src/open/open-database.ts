import { type DataSourceOptions, type MigrationInterface, QueryFailedError } from 'typeorm';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import type { SqliteConnectionOptions } from 'typeorm/driver/sqlite/SqliteConnectionOptions.js';
import { parseDatabaseUrl } from './database-url.js';
import { PostgresDataSource } from '../postgres/postgres-data-source.js';
import { createPostgresOptions } from '../postgres/postgres-options.js';
import { SqliteDataSource } from '../sqlite/sqlite-data-source.js';
import { getErrorCode } from '../engine/driver-errors.js';
import { JobRun } from '../repositories/jobs.js';
import { CreateJobRuns1795400000000 } from '../migrations/1795400000000-create-job-runs.js';
import { RecreateChanges1795700000000 } from '../migrations/1795700000000-create-changes.js';
import { assertOneCopy } from '../errors/loaded-copies.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import type { StoreDataSource, StoreExtra } from '../engine/store-data-source.js';
import { TimeLimits } from '../engine/time-limits.js';

/**
 * The options of the data source of either engine, from {@link createStoreOptions}.
 *
 * @example
 * ```ts
 * function isOnSqlite(options: StoreOptions): boolean {
 *   return options.type === 'sqlite';
 * }
 * ```
 */
export type StoreOptions = SqliteConnectionOptions | PostgresConnectionOptions;

type Class<Instance = object> = new () => Instance;

/**
 * The entities and migrations of the store.
 *
 * @example
 * ```ts
 * const ownSchema: Schema = {
 *   applicationName: 'plant-store',
 *   entities: [Plant, ...platformSchema.entities],
 *   migrations: [...platformSchema.migrations],
 * };
 * ```
 */
export interface Schema {
  /** The name of the program at the database server. */
  readonly applicationName?: string;
  readonly entities: Class[];
  /** TypeORM executes them in the order of the numbers in their names. */
  readonly migrations: Class<MigrationInterface>[];
  /** The names of former migrations, which older stores have executed. */
  readonly retired?: readonly string[];
  /**
   * What TypeORM's find methods do with null and undefined in `where`. By default they ignore the
   * member, so `findOneBy({ id: undefined })` finds any row; `{ undefined: 'throw' }` prevents this.
   */
  readonly invalidWhereValuesBehavior?: NonNullable<
    DataSourceOptions['invalidWhereValuesBehavior']
  >;
}

/**
 * The tables of the platform: they are part of every {@link Schema}.
 *
 * @example
 * ```ts
 * const ownSchema: Schema = {
 *   entities: [Plant, ...platformSchema.entities],
 *   migrations: [...platformSchema.migrations],
 * };
 * ```
 */
export const platformSchema = {
  entities: [JobRun],
  migrations: [CreateJobRuns1795400000000, RecreateChanges1795700000000],
  retired: ['CreateChanges1795600000000'],
} satisfies Schema;

/**
 * Where a store is, and how it is used.
 *
 * @example
 * ```ts
 * const settings: StoreSettings = {
 *   url: 'postgres://service@db.example.com/plants',
 *   poolSize: 4,
 *   transactionTimeoutMs: 30_000,
 * };
 * ```
 */
export interface StoreSettings {
  /** `sqlite:` and a path, or `postgres://` with a user, a host and a database. */
  readonly url: string;
  /** How many connections commit batches. As many others read pages, and as many serve TypeORM. */
  readonly poolSize: number;
  /** How long a transaction of TypeORM may last, in milliseconds; undefined for no limit. */
  readonly transactionTimeoutMs?: number | undefined;
  /** Whether changes are recorded; undefined keeps the state of the store. */
  readonly changeFeed?: 'on' | 'off' | undefined;
  /**
   * How long a caller waits for the store, in milliseconds: from 1,000 to 20,000, and 5,000 by
   * default. Other times of the store follow from it.
   */
  readonly waitTimeoutMs?: number | undefined;
  /**
   * How many pages SQLite reads at a time, by default one. Each reader holds a thread of Node, so more
   * than one need `UV_THREADPOOL_SIZE` in the environment.
   */
  readonly filePageReaders?: number | undefined;
}

/**
 * Makes the options of the data source.
 *
 * @param logMigration gets lines for the operator about changes of the schema
 * @throws TypeError when the URL is not one of a store
 * @throws RangeError for a `waitTimeoutMs` outside its range
 * @example
 * ```ts
 * const options = createStoreOptions(
 *   { url: 'sqlite:data/store.db', poolSize: 4, transactionTimeoutMs: 30_000 },
 *   schema,
 *   (line) => console.log(line),
 * );
 * ```
 */
export function createStoreOptions(
  settings: StoreSettings,
  { retired = [], ...schema }: Schema,
  logMigration?: StoreExtra['logMigration'],
): StoreOptions {
  const { poolSize, transactionTimeoutMs, changeFeed, filePageReaders = 1 } = settings;
  const url = parseDatabaseUrl(settings.url);
  if (url === undefined) throw new TypeError('not a database URL');
  const timeLimits = new TimeLimits(settings.waitTimeoutMs);
  const extra: StoreExtra = {
    timeLimits,
    filePageReaders,
    transactionTimeoutMs,
    changeFeed,
    logMigration,
    retired,
  };
  const options: StoreOptions =
    url.type === 'sqlite'
      ? { type: 'sqlite', database: url.path }
      : createPostgresOptions(url, poolSize, transactionTimeoutMs, timeLimits);
  return {
    ...options,
    extra: { ...(options.extra as object | undefined), ...extra },
    ...schema,
    migrationsTransactionMode: 'each',
  };
}

/**
 * Makes the data source of a store, which is not open yet: {@link openDatabase} opens one.
 *
 * @throws DatabaseStartError when the program has loaded two copies of this package
 * @example
 * ```ts
 * const options = createStoreOptions({ url: 'sqlite:data/store.db', poolSize: 4 }, schema);
 * const dataSource = createDataSource(options);
 * ```
 */
export function createDataSource(options: StoreOptions): StoreDataSource {
  assertOneCopy();
  return options.type === 'postgres'
    ? new PostgresDataSource(options)
    : new SqliteDataSource(options);
}

/**
 * Opens the store.
 *
 * @param prepare by default brings the schema up to date
 * @throws DatabaseStartError when the store cannot be used
 * @example
 * ```ts
 * const options = createStoreOptions({ url: 'sqlite:data/store.db', poolSize: 4 }, schema);
 * const dataSource = await openDatabase(options);
 * ```
 */
export async function openDatabase(
  options: StoreOptions,
  prepare: (dataSource: StoreDataSource) => Promise<unknown> = (dataSource) => dataSource.open(),
): Promise<StoreDataSource> {
  const dataSource = createDataSource(options);
  try {
    await prepare(dataSource);
    return dataSource;
  } catch (error) {
    await dataSource.destroy();
    if (error instanceof DatabaseStartError) throw error;
    // The messages of engines and of the system contain no password.
    const cause = (error instanceof QueryFailedError ? error.driverError : error) as Error;
    // A failure to connect to each of several addresses has no message of its own.
    const reason = cause.message || getErrorCode(cause);
    const { description, failedMigration } = dataSource;
    const place = failedMigration === undefined ? '' : `, in the migration ${failedMigration}`;
    throw new DatabaseStartError(`The store cannot be used, ${description}${place}: ${reason}`, {
      cause: error,
    });
  }
}

import { Logger } from '@nestjs/common';
import {
  type DataSource,
  type EntityManager,
  type Migration,
  type MigrationExecutor,
  type QueryRunner,
  type EntityTarget,
  type ObjectLiteral,
  type Repository,
} from 'typeorm';
import { StoreMetrics } from './store-metrics.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import { EngineDataSource, type Statement } from './engine.js';
import { StoreEntityManager } from './store-entity-manager.js';
import { type MigrationProgress, StoreMigrationExecutor } from './migration-executor.js';
import { StoreFailures } from './store-failures.js';
import type { TimeLimits } from './time-limits.js';

/** The longest time limit, in milliseconds: 24 days. A timer of Node for a longer one ends at once. */
const MAX_TIME_LIMIT_MS = 24 * 24 * 60 * 60 * 1_000;

/** The members of `extra` in the options of a data source, besides the members of its driver. */
export interface StoreExtra {
  readonly timeLimits: TimeLimits;
  /** How many pages of a store in a file are read at a time. */
  readonly filePageReaders: number;
  /** How long a transaction of TypeORM may last, in milliseconds. */
  readonly transactionTimeoutMs: number | undefined;
  /** Whether changes are recorded; undefined keeps the state of the store. */
  readonly changeFeed: 'on' | 'off' | undefined;
  /** Gets a line when a change of the schema begins, and another when it ends. */
  readonly logMigration: ((line: string) => void) | undefined;
  /** The names of former migrations. */
  readonly retired: readonly string[];
}

const logger = new Logger('Store');

type MigrationOptions = NonNullable<Parameters<DataSource['runMigrations']>[0]>;

/** A write of no row: the statement and its parameters. */
type EmptyWrite = readonly [Statement, readonly unknown[]];

/** Writes of a table by which an engine can check that the table takes rows. */
export interface EmptyWrites {
  readonly insert: EmptyWrite;
  readonly update: EmptyWrite;
}

/**
 * A TypeORM data source with the further operations that this program needs of each engine.
 *
 * @example
 * ```ts
 * const dataSource: StoreDataSource = createDataSource(options);
 * await dataSource.open();
 * const count = await dataSource.withTimeLimit(60_000, (manager) => manager.count(Plant));
 * ```
 */
export abstract class StoreDataSource extends EngineDataSource {
  readonly metrics = new StoreMetrics();
  readonly failures = new StoreFailures();

  /** What batches write, by the name of the table. */
  readonly written = new Map<string, EmptyWrites>();

  /** Whether the store had no tables of this program before it was opened. */
  isNew = false;

  /** The name of the migration that failed. */
  failedMigration: string | undefined;
  private executor: StoreMigrationExecutor | undefined;

  /** How many of the missing migrations have been executed; undefined for a new or complete store. */
  get migrationProgress(): MigrationProgress | undefined {
    const { progress } = this.executor ?? {};
    return this.isNew || progress?.total === 0 ? undefined : progress;
  }

  /** Checks that the store is writable. */
  async probeWrite(): Promise<void> {
    const session = await this.pools.writers.acquire();
    let hasFailed = true;
    try {
      await session.query(this.probe, []);
      session.assertSameStore();
      hasFailed = false;
    } finally {
      await session.release(hasFailed);
    }
  }

  override createEntityManager(queryRunner?: QueryRunner): EntityManager {
    return new StoreEntityManager(this, queryRunner);
  }

  /**
   * Executes work whose statements and transactions may take longer than TRANSACTION_TIMEOUT_MS,
   * such as a report.
   *
   * @param limit for each statement and each transaction, in milliseconds: a whole number from 1 to
   *   2,073,600,000, which is 24 days
   * @throws RangeError for another limit, and then does no work
   */
  async withTimeLimit<Result>(
    limit: number,
    work: (manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_TIME_LIMIT_MS) {
      throw new RangeError(
        `The time limit must be a whole number of milliseconds from 1 to ${MAX_TIME_LIMIT_MS}, not ${limit}`,
      );
    }
    const queryRunner = this.createQueryRunner();
    try {
      await queryRunner.setTimeLimit(limit);
      return await work(queryRunner.manager);
    } finally {
      await queryRunner.release();
    }
  }

  /** @throws DatabaseStartError when an entity has no table */
  async assertTables(): Promise<void> {
    const queryRunner = this.createQueryRunner();
    try {
      for (const { name, tablePath, tableType } of this.entityMetadatas) {
        if (tableType === 'view' || (await queryRunner.hasTable(tablePath))) continue;
        throw new DatabaseStartError(
          `${name} has no table ${tablePath}: list the migration that creates it in src/schema.ts`,
        );
      }
    } finally {
      await queryRunner.release();
    }
  }

  /** @throws TypeError for an entity that is not among the entities of the store */
  override getRepository<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
  ): Repository<Entity> {
    if (this.isInitialized && !this.hasMetadata(target)) {
      const name = typeof target === 'function' ? target.name : JSON.stringify(target);
      throw new TypeError(`${name} is not among the entities of src/schema.ts: add it there`);
    }
    return super.getRepository(target);
  }

  get timeLimits(): TimeLimits {
    return (this.options.extra as StoreExtra).timeLimits;
  }

  get migrationNames(): string[] {
    return this.migrations.map(({ name, constructor }) => name ?? constructor.name);
  }

  private get retired(): readonly string[] {
    return (this.options.extra as StoreExtra).retired;
  }

  /** Finds the migrations of a store that this program does not know, and those that the store lacks. */
  compareMigrations(executed: readonly ExecutedMigration[]): MigrationDifferences {
    return compareMigrations(this.migrationNames, this.retired, executed);
  }

  override async runMigrations(options?: MigrationOptions): Promise<Migration[]> {
    return await this.withMigrations((executor) => executor.executePendingMigrations(), options);
  }

  override async undoLastMigration(options?: MigrationOptions): Promise<void> {
    await this.withMigrations((executor) => executor.undoLastMigration(), options);
  }

  /** Executes migrations without a time limit, one program at a time. */
  protected async withMigrations<Result>(
    work: (executor: MigrationExecutor, queryRunner: QueryRunner) => Promise<Result>,
    { transaction = this.options.migrationsTransactionMode, fake = false }: MigrationOptions = {},
  ): Promise<Result> {
    const queryRunner = this.createQueryRunner();
    const executor = new StoreMigrationExecutor(
      this,
      queryRunner,
      this.migrationRules,
      this.retired,
    );
    this.executor = executor;
    executor.transaction = transaction ?? 'all';
    executor.fake = fake;
    try {
      await queryRunner.setTimeLimit(undefined);
      await this.migrationRules.lock(queryRunner);
      return await work(executor, queryRunner);
    } catch (error) {
      this.failedMigration = executor.runningMigration;
      throw error;
    } finally {
      await queryRunner.release();
    }
  }

  override async destroy(): Promise<void> {
    if (this.isInitialized) await super.destroy();
  }

  /**
   * Runs the migrations that the store lacks, each in a transaction of its own unless it wants none,
   * and switches the feed of changes on or off.
   *
   * @throws DatabaseStartError when the schema is from a newer version of the program
   */
  protected async updateSchema(
    executor: MigrationExecutor,
    queryRunner: QueryRunner,
  ): Promise<void> {
    const { changeFeed, logMigration: log } = this.options.extra as StoreExtra;
    const known = this.migrationNames;
    const { unknown, missing } = this.compareMigrations(await executor.getExecutedMigrations());
    if (unknown.length > 0) {
      throw new DatabaseStartError(
        `The database is newer than this program, which does not know ${unknown.join(', ')}: run the version that was run last, or restore the backup that was made before it. If you have removed the migration on purpose, list its name in retired of src/schema.ts`,
      );
    }
    this.isNew = missing.length === known.length;
    if (this.isNew) {
      await executor.executePendingMigrations();
    } else if (missing.length > 0) {
      const from = known.findLast((name) => !missing.includes(name));
      log?.(`Migrating the schema from ${from} to ${missing.at(-1)}`);
      const began = performance.now();
      await executor.executePendingMigrations();
      log?.(`Migrated the schema in ${((performance.now() - began) / 1_000).toFixed(1)} seconds`);
    }
    if (changeFeed === 'on' && (await this.changeLog.switchOn(queryRunner))) {
      logger.warn(
        'The feed of changes begins anew, and all recorded changes were removed, since the tables whose changes are recorded are not the same as before: clients that follow the feed must read all rows again',
      );
    }
    if (changeFeed === 'off' && (await this.changeLog.switchOff(queryRunner))) {
      logger.warn(
        'CHANGE_FEED is off, so this start has removed all recorded changes, for every program on this store: clients that follow the feed must read all rows again',
      );
    }
  }
}

/** A row of the table of migrations. */
export interface ExecutedMigration {
  readonly name: string;
}

/** The names of migrations, of which this program or a store lacks the others. */
export interface MigrationDifferences {
  /** The migrations that the store has executed, and this program does not know. */
  readonly unknown: string[];
  /** The migrations that the store has not executed. */
  readonly missing: string[];
}

/** See {@link StoreDataSource.compareMigrations}. */
export function compareMigrations(
  known: readonly string[],
  retired: readonly string[],
  executed: readonly ExecutedMigration[],
): MigrationDifferences {
  const names = executed.map(({ name }) => name);
  return {
    unknown: names.filter((name) => !known.includes(name) && !retired.includes(name)),
    missing: known.filter((name) => !names.includes(name)),
  };
}

import { DataSource, type EntityManager, MigrationExecutor, type QueryRunner } from 'typeorm';
import type { ReplicationMode } from 'typeorm/driver/types/ReplicationMode.js';
import type { SessionPool, Statement } from '../batching/session.js';
import type { SqlDialect } from '../batching/sql-builder.js';
import { type ChangeLog, listRecordedTables } from '../change-feed/change-log.js';
import type { SchemaChanger, SchemaSteps } from '../migration-steps.js';
import type { DriverErrors } from './driver-errors.js';

/** The store cannot be used. The message is one line for the operator, without secrets. */
export class DatabaseStartError extends Error {}

/** The members of `extra` in the options of a data source, besides those of its driver. */
export interface StoreExtra {
  /** How long a transaction of TypeORM may last, in milliseconds. */
  readonly transactionTimeoutMs: number | undefined;
  /** Whether changes are recorded; undefined keeps the state of the store. */
  readonly changeFeed: 'on' | 'off' | undefined;
  /** Gets a line when a change of the schema begins, and another when it ends. */
  readonly logMigration: ((line: string) => void) | undefined;
}

/** A query runner whose time limits can be changed. */
export interface TimeLimited {
  /** @param limit for each statement and each transaction, in milliseconds; undefined for none */
  setTimeLimit(limit: number | undefined): Promise<void> | void;
}

/** The sessions of batches. */
export interface SessionPools {
  /** For commits of many rows. */
  readonly writers: SessionPool;
  /** For reading rows by key. */
  readonly rowReaders: SessionPool;
  /** For reading pages, so that reading rows by key does not wait for these. */
  readonly pageReaders: SessionPool;
}

/** A TypeORM data source with the further operations that this program needs of each engine. */
export abstract class StoreDataSource extends DataSource implements SchemaChanger {
  abstract readonly dialect: SqlDialect;
  abstract readonly errors: DriverErrors;
  abstract readonly changeLog: ChangeLog;
  abstract readonly SchemaSteps: new (queryRunner: QueryRunner) => SchemaSteps;
  /** Makes a durable commit that changes nothing. */
  protected abstract readonly probe: Statement;

  /** The kind and the place of the store, for the operator. It has no password. */
  abstract get description(): string;

  abstract get pools(): SessionPools;

  /**
   * Opens the store: locks out other programs if it can serve only one, makes sure that commits are
   * durable, and brings the schema up to date.
   *
   * @throws DatabaseStartError
   */
  abstract open(): Promise<void>;

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

  override createQueryRunner(mode?: ReplicationMode): QueryRunner & TimeLimited {
    return super.createQueryRunner(mode) as QueryRunner & TimeLimited;
  }

  /**
   * Executes work whose statements and transactions may take longer than TRANSACTION_TIMEOUT_MS,
   * such as a report.
   *
   * @param limit for each statement and each transaction, in milliseconds
   */
  async withTimeLimit<Result>(
    limit: number,
    work: (manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    const queryRunner = this.createQueryRunner();
    try {
      await queryRunner.setTimeLimit(limit);
      return await work(queryRunner.manager);
    } finally {
      await queryRunner.release();
    }
  }

  get migrationNames(): string[] {
    return this.migrations.map(({ name, constructor }) => name ?? constructor.name);
  }

  override async destroy(): Promise<void> {
    if (this.isInitialized) await super.destroy();
  }

  /**
   * Runs the migrations that the store lacks, each in a transaction of its own, and switches the
   * feed of changes on or off.
   *
   * @throws DatabaseStartError when the schema is from a newer version of the program
   */
  protected async updateSchema(queryRunner: QueryRunner): Promise<void> {
    const { changeFeed, logMigration: log } = this.options.extra as StoreExtra;
    const known = this.migrationNames;
    const executor = new MigrationExecutor(this, queryRunner);
    executor.transaction = 'each';
    const { unknown, missing } = compareMigrations(known, await executor.getExecutedMigrations());
    if (unknown.length > 0) {
      throw new DatabaseStartError(
        `The database is newer than this program, which does not know ${unknown.join(', ')}: run the version that was run last, or restore the backup that was made before it`,
      );
    }
    if (missing.length > 0) {
      const from = known.filter((name) => !missing.includes(name)).at(-1) ?? 'none';
      log?.(`Migrating the schema from ${from} to ${missing.at(-1)}`);
      const began = performance.now();
      await executor.executePendingMigrations();
      log?.(`Migrated the schema in ${((performance.now() - began) / 1_000).toFixed(1)} seconds`);
    }
    if (changeFeed === 'on') {
      await this.changeLog.switchOn(queryRunner, listRecordedTables(this, this.dialect));
    }
    if (changeFeed === 'off') await this.changeLog.switchOff(queryRunner);
  }
}

/** Finds the migrations of a store that the program does not know, and those that the store lacks. */
export function compareMigrations(
  known: readonly string[],
  executed: readonly { readonly name: string }[],
): { unknown: string[]; missing: string[] } {
  const names = executed.map(({ name }) => name);
  return {
    unknown: names.filter((name) => !known.includes(name)),
    missing: known.filter((name) => !names.includes(name)),
  };
}

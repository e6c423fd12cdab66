import { DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import type { ReplicationMode } from 'typeorm/driver/types/ReplicationMode.js';
import type { EntityColumns } from '../batching/entity-columns.js';
import type { SessionPool } from '../batching/session.js';
import type { TableSql } from '../batching/sql-builder.js';
import type { FailureClassifier } from '../batching/write-rows.js';
import { type ChangeLog, listRecordedTables } from '../change-feed/change-log.js';
import type { SchemaChanger, SchemaSteps } from '../migration-steps.js';

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

/** The means of an engine to read and write one table. */
export interface TableAccess {
  readonly sql: TableSql;
  readonly classifier: FailureClassifier;
}

/** A TypeORM data source with the further operations that this program needs of each engine. */
export abstract class StoreDataSource extends DataSource implements SchemaChanger {
  /** The kind and the place of the store, for the operator. It has no password. */
  abstract get description(): string;

  /**
   * Opens the store: locks out other programs if it can serve only one, makes sure that commits are
   * durable, and brings the schema up to date.
   *
   * @throws DatabaseStartError
   */
  abstract open(): Promise<void>;

  abstract createSchemaSteps(queryRunner: QueryRunner): SchemaSteps;

  /** Sessions for commits of many rows. */
  abstract get writers(): SessionPool;

  /** Sessions for reading rows by key. */
  abstract get rowReaders(): SessionPool;

  /** Sessions for reading pages. */
  abstract get pageReaders(): SessionPool;

  /** The most pages that one statement reads. */
  abstract readonly maxPages: number;

  abstract readonly changeLog: ChangeLog;

  abstract accessTable(columns: EntityColumns): TableAccess;

  /** Makes a durable commit that changes nothing, to check that the store is writable. */
  abstract probeWrite(): Promise<void>;

  /** Describes for the operator why the store cannot be opened. */
  abstract describeError(error: unknown): string;

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

  protected async setUpChangeFeed(queryRunner: QueryRunner): Promise<void> {
    const { changeFeed } = this.options.extra as StoreExtra;
    if (changeFeed === 'on') {
      await this.changeLog.switchOn(queryRunner, listRecordedTables(this));
    } else if (changeFeed === 'off') {
      await this.changeLog.switchOff(queryRunner);
    }
  }
}

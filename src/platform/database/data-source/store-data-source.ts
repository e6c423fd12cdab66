import { DataSource, type EntityManager, MigrationExecutor, type QueryRunner } from 'typeorm';
import type { ReplicationMode } from 'typeorm/driver/types/ReplicationMode.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EntityColumns } from '../batching/entity-columns.js';
import type { FailureClassifier } from '../batching/isolate-failures.js';
import type { JsonReader } from '../batching/read-rows.js';
import type { SessionPool } from '../batching/session.js';
import type { TableSql } from '../batching/sql-builder.js';
import { type ChangeLog, listRecordedTables } from '../change-feed/change-log.js';
import type { SchemaBuilder } from './schema-builder.js';
import { StoreEntityManager } from './store-entity-manager.js';

/** The store cannot be used. The message is one line for the operator: it may name anything but a secret. */
export class DatabaseStartError extends Error {}

/** What the options of a data source have in `extra`, besides what its driver takes. */
export interface StoreExtra {
  /** How long a transaction of TypeORM may last, in milliseconds. */
  readonly transactionTimeoutMs: number | undefined;
  /** Whether changes are recorded; undefined leaves that as it is in the store. */
  readonly changeFeed: 'on' | 'off' | undefined;
  /** Takes a line on a change of the schema when it begins, and another when it is over. */
  readonly logMigration: ((line: string) => void) | undefined;
}

/** A query runner whose caller may allow itself more time, or less. */
export interface TimeLimited {
  /** @param limit for each statement and each transaction, in milliseconds; undefined for any time */
  setTimeLimit(limit: number | undefined): Promise<void> | void;
}

/** How an engine works on the rows of one table. */
export interface TableAccess {
  readonly sql: TableSql;
  /** Undefined where only the program can write the rows as JSON. */
  readonly json: JsonReader | undefined;
  readonly classifier: FailureClassifier;
}

/** What this program needs of an engine, beyond what TypeORM does alike on each. */
export abstract class StoreDataSource extends DataSource {
  /** What the store is and where, for the operator: never the password. */
  abstract get description(): string;

  /**
   * Opens the store for this program: keeps other programs from it where it can serve only one, makes
   * sure that commits are durable, and brings the schema up to date.
   *
   * @throws DatabaseStartError
   */
  abstract open(): Promise<void>;

  /** Changes the schema, in migrations. */
  abstract readonly schemaBuilder: SchemaBuilder;

  /** For commits of many rows. */
  abstract get writers(): SessionPool;

  /** For rows by key. */
  abstract get rowReaders(): SessionPool;

  /** For pages. */
  abstract get pageReaders(): SessionPool;

  /** How many pages one read is of, at most. */
  abstract readonly maxPages: number;

  abstract readonly changeLog: ChangeLog;

  /** Is called when a batch has committed what may be changes; TypeORM tells its subscribers of the other commits. */
  onCommit: () => void = () => undefined;

  abstract accessTable(columns: EntityColumns): TableAccess;

  /** A value that TypeORM made ready for a column, as JSON has it. */
  abstract encodeValue(value: unknown, column: ColumnMetadata): unknown;

  /**
   * Refuses a statement that is not part of the transaction that it is called from, where it would
   * wait for that transaction for ever.
   *
   * @throws Error
   */
  abstract assertOutsideTransaction(access: 'read' | 'write'): void;

  /** The time of the store's clock, in milliseconds since 1970: the same for all programs. */
  abstract readClock(): Promise<number>;

  /** Commits durably what changes nothing, to find out whether the store can be written. */
  abstract probeWrite(): Promise<void>;

  /** Why the store cannot be opened, in words for the operator. */
  abstract describeError(error: unknown): string;

  override createQueryRunner(mode?: ReplicationMode): QueryRunner & TimeLimited {
    return super.createQueryRunner(mode) as QueryRunner & TimeLimited;
  }

  override createEntityManager(queryRunner?: QueryRunner): EntityManager {
    return new StoreEntityManager(this, queryRunner);
  }

  /**
   * Does work whose statements and transactions may take longer than the default, such as a report.
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

  /** @throws DatabaseStartError when another program needs the feed of changes, which this one is not to have */
  protected async setUpChangeFeed(queryRunner: QueryRunner): Promise<void> {
    const { changeFeed } = this.options.extra as StoreExtra;
    if (changeFeed === 'on') {
      await this.changeLog.switchOn(queryRunner, listRecordedTables(this));
    } else if (changeFeed === 'off') {
      await this.changeLog.switchOff(queryRunner);
    }
  }

  /** @throws DatabaseStartError when a newer version of the program has made the schema */
  protected async runNewMigrations(queryRunner: QueryRunner): Promise<void> {
    const executor = new MigrationExecutor(this, queryRunner);
    executor.transaction = 'each';
    const executed = await executor.getExecutedMigrations();
    const { unknown, missing } = compareMigrations(this.migrationNames, executed);
    if (unknown.length > 0) {
      throw new DatabaseStartError(
        `The database is newer than this program, which does not know ${unknown.join(', ')}: run the version that was run last, or restore the backup that was made before it`,
      );
    }
    if (missing.length === 0) return;
    const { logMigration: log = () => undefined } = this.options.extra as StoreExtra;
    const from = this.migrationNames.filter((name) => !missing.includes(name)).at(-1) ?? 'none';
    log(`Migrating the schema from ${from} to ${missing.at(-1)}`);
    const began = performance.now();
    await executor.executePendingMigrations();
    log(`Migrated the schema in ${((performance.now() - began) / 1_000).toFixed(1)} seconds`);
  }
}

/** Which of a store's migrations a program does not know, and which of its own the store lacks. */
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

import { DataSource, type EntityMetadata, type QueryRunner } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { ReplicationMode } from 'typeorm/driver/types/ReplicationMode.js';
import type { EntityColumns } from '../entities/entity-columns.js';
import type { ConstraintError } from '../errors/constraint.error.js';
import type { SchemaSteps } from './schema-steps.js';

// What an engine provides: read this first to write another one. An engine `x` is a folder beside
// this one, with a file for each part: x-data-source, x-connections, x-query-runner, x-schema-runner,
// x-dialect, x-errors, x-change-log, x-migrations and x-schema-steps. The other files of this folder
// are what engines have in common. open/open-database.ts chooses the engine.

/** The data source of an engine. Its class extends StoreDataSource, which has the rest. */
export abstract class EngineDataSource extends DataSource {
  /** Where the store is, as DATABASE_URL names it, without a user or a password. */
  abstract get location(): string;

  /** The kind of the store and where it is, for the operator. It has no password. */
  abstract get description(): string;

  /** The file of the store; undefined for a server. */
  abstract get path(): string | undefined;

  abstract get pools(): SessionPools;
  abstract readonly dialect: SqlDialect;
  abstract readonly errors: DriverErrors;
  abstract readonly changeLog: ChangeLog;
  abstract readonly migrationRules: MigrationRules;
  abstract readonly SchemaSteps: new (queryRunner: QueryRunner) => SchemaSteps;

  /** Makes a durable commit that changes nothing. */
  abstract readonly probe: Statement;

  /**
   * Opens the store: locks out other programs if it can serve only one, makes sure that commits are
   * durable, and brings the schema up to date.
   *
   * @throws DatabaseStartError
   */
  abstract open(): Promise<void>;

  /** The driver of an engine makes query runners for all that TypeORM and modules do. */
  override createQueryRunner(mode?: ReplicationMode): StoreQueryRunner {
    return super.createQueryRunner(mode) as StoreQueryRunner;
  }
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

/** The connections for one kind of work. */
export interface SessionPool {
  /** How many sessions may be in use at the same time. */
  readonly size: number;

  /** Resolves once a session is free. A pool for writes also waits for the right to write. */
  acquire(): Promise<PooledSession>;
}

/** A connection on which statements run one after another. */
export interface Session {
  /** Whether statements are part of a transaction; otherwise each statement commits on its own. */
  readonly isInTransaction: boolean;

  /** Whether statements wait for rows that others have locked, as a module's transaction does. */
  readonly waitsForLocks: boolean;

  /** Executes a statement, and resolves with its rows. */
  query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]>;

  /**
   * Executes work in a transaction, or inside one in a savepoint: it is stored as a whole or not at
   * all.
   */
  transaction<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** A session from a pool. The class PooledSqlSession has its transactions. */
export interface PooledSession extends Session {
  /** @throws StoreUnavailableError when the rows went to a file that is no longer the store */
  assertSameStore(): void;

  /**
   * Gives the session back to its pool. A broken connection is replaced first.
   *
   * @param hasFailed whether the store has failed, so that the connection may be broken
   */
  release(hasFailed: boolean): Promise<void>;
}

/** A statement. Engines that use names keep it prepared under its name on each connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A query runner of TypeORM with the further operations that a store needs. */
export interface StoreQueryRunner extends QueryRunner {
  /** @param limit for each statement and each transaction, in milliseconds; undefined for none */
  setTimeLimit(limit: number | undefined): Promise<void> | void;

  /**
   * Executes work of a repository in the open transaction. Other statements of the query runner are
   * sent before it or after it: a savepoint of the work that is rolled back would undo any
   * statements in between. So the work must only wait for its own statements, which subscribers do
   * not see.
   *
   * @throws TypeError when no transaction is open
   */
  join<Result>(work: (send: Send) => Promise<Result>): Promise<Result>;

  /** What a column must do, so that the engine generates its values. */
  readonly generationRule: string;

  /** Reads the table of an entity; undefined if the entity has none, or has a view instead. */
  readTable(entity: EntityMetadata): Promise<StoredTable | undefined>;
}

/** Sends a statement, and resolves with its rows. */
export type Send = (sql: string, parameters: readonly unknown[]) => Promise<unknown[]>;

/** A table in the store, as far as it is compared with its entity. */
export interface StoredTable {
  readonly columns: readonly StoredColumn[];
  /** The names of the indexes. */
  readonly indexes: readonly string[];
}

/** A column of a table in the store. */
export interface StoredColumn {
  readonly name: string;
  /** The declared type. */
  readonly type: string;
  /** Whether it is a part of the primary key. */
  readonly isKey: boolean;
  /** Whether the store may set its value in a row that is inserted without one. */
  readonly isGenerated: boolean;
}

/** How many code points of a text an index holds, since the size of an index entry is limited. */
export const INDEXED_LENGTH = 64;

/** The most rows of a page, or of a piece of an export. */
export const MAX_ROWS = 4_096;

/** The most pages of one statement. Passing a statement on takes as long as reading a page. */
export const MAX_PAGES = 8;

/** The SQL of the parts of a page, of which an engine makes a SELECT. */
export interface PageSql {
  readonly table: string;
  /** The conditions of the filters. */
  readonly conditions: readonly string[];
  /** The expressions by which rows are sorted, of which the last ones are the primary key. */
  readonly keys: readonly string[];
  readonly isDescending: boolean;
  /** The sort values of the row before the first one; undefined for the first page. */
  readonly after: readonly string[] | undefined;
  /** How many rows the page has at most. */
  readonly limit: string;
}

/** The SQL of what is made of each row of a page. */
export interface PageRowSql {
  /** The columns that the others take. */
  readonly columns: string;
  /** About how many bytes the row has as JSON. Engines know the length of a text without reading it. */
  readonly bytes: string;
  /** The row as JSON. */
  readonly json: string;
  /** The sort values as text. */
  readonly sortValues: readonly string[];
}

/** How the rows of a page are written as JSON. */
export interface JsonFormat {
  readonly name: 'page' | 'piece';
  readonly separator: ',' | '\n';
  readonly maxBytes: number;
}

/** The SQL that differs between engines. */
export interface SqlDialect {
  /** The placeholder of the parameter with this number, from 1. */
  parameter(number: number): string;

  /**
   * The rows of the first parameter, as the table `given_rows`. The parameter is JSON, an array of rows,
   * each an array of the values of its columns. So a statement has a constant text, and no limit on
   * parameters applies.
   */
  readonly givenRows: string;

  /** The place of a row of `given_rows` in the order of the parameter. */
  readonly givenPlace: string;

  /** The value with an index in a row of `given_rows`, as a value of a type. */
  givenValue(index: number, type: unknown): string;

  /** The parameter of bytes with this number. */
  givenBytes(number: number): string;

  /** Whether a parameter may be an array of keys, in which the engine finds them faster. */
  readonly takesArrays: boolean;

  /** The clauses that lock the rows of a SELECT; undefined where there is only one writer. */
  readonly locks?: {
    /** For rows that keep their keys: others may refer to them while they are locked. */
    readonly toChange: string;
    readonly toRemove: string;
    /**
     * For rows to which others refer: they may change while they are locked, but not be removed.
     */
    readonly toKeep: string;
    /** Leaves out the rows that others have locked. */
    readonly skip: string;
    /** Has the rest of a transaction wait for locks as briefly as possible. */
    readonly shortenWaits: Statement;
  };

  /** Whether a statement that inserts or updates can write the same row more than once. */
  readonly canPutInOrder: boolean;

  /**
   * Finds the triggers of the table that the first parameter names, except for the triggers of the
   * feed. Without this statement, triggers are always expected.
   */
  readonly findTriggers?: Statement;

  /** The text of a column's value, in its canonical spelling. */
  asText(sql: string, type: unknown): string;

  /** A column in the list of a SELECT, without loss of digits. */
  selected(columns: EntityColumns, column: ColumnMetadata): string;

  /** Converts a value in the form of text, so that it compares with a column. */
  fromText(sql: string, column: ColumnMetadata): string;

  /**
   * The sort expression of a column, on which an index has to be. Text is sorted by code point, on
   * every engine: the whole text, or its first {@link INDEXED_LENGTH} code points with A to Z in
   * lowercase.
   */
  sorted(sql: string, type: unknown, ignoresCase: boolean): string;

  /** The JSON string of a text. */
  quoteJson(text: string): string;

  /** Whether the engine plans a statement for the values of its parameters. */
  readonly plansForValues: boolean;

  /** Writes the SELECT of the rows of a page in their order, to which the caller adds the LIMIT. */
  selectPage(page: PageSql, selected: string): string;

  /**
   * Writes the SELECT of a page as JSON: `text`, or NULL if its rows exceed `maxBytes` and are more than
   * one, and `ends`, a JSON array of the sort values of the last row and of the row after it.
   */
  selectJson(page: PageSql, row: PageRowSql, format: JsonFormat): string;

  /**
   * Writes the statement that executes such a SELECT for each of `given_rows`, in their order: these have
   * the values of at most {@link MAX_PAGES} pages.
   */
  selectForEach(select: string): string;
}

/**
 * The cause of a failed statement: the store, a lock of another session, or one of its rows. A
 * statement that is wrong for every row is reported as the fault of each row.
 */
export type FailureCause = 'row' | 'lock' | 'store';

/** Explains the errors of an engine's driver. */
export interface DriverErrors {
  findCause: (error: unknown) => FailureCause;

  /**
   * Converts an error that reports a violated constraint; undefined for others.
   *
   * @param entities the entities whose tables may be concerned
   * @param written what the statement writes to, if known
   */
  toConstraintError: (
    error: unknown,
    entities: readonly EntityMetadata[],
    written?: Written,
  ) => ConstraintError | undefined;
}

/** A table that a statement writes to. */
export interface Written {
  readonly table: string;
  readonly isRemoval: boolean;
}

/**
 * Records changes by an engine's means, in the same commit as the changes: triggers add rows to the
 * table `changes`, numbered upwards from 1. Row 0 is the beginning of the feed.
 */
export interface ChangeLog {
  /** The table `changes` in SQL. Another schema may have one too. */
  readonly table: string;

  /** Returns `settled`: no further change can appear up to this number. */
  readonly settle: Statement;

  /**
   * Records changes from now on. The feed begins anew, without any change, unless all changes of
   * the recorded tables have been recorded until now.
   *
   * @returns whether the recorded changes of an earlier feed were removed
   */
  switchOn(queryRunner: QueryRunner): Promise<boolean>;

  /**
   * Stops recording changes, and removes the recorded ones.
   *
   * @returns whether changes were recorded until now
   */
  switchOff(queryRunner: QueryRunner): Promise<boolean>;
}

/** The rules of an engine for TypeORM's execution of migrations. */
export interface MigrationRules {
  /** Keeps other programs from executing migrations until the query runner is released. */
  lock(queryRunner: QueryRunner): Promise<void>;

  /** Prepares the session. */
  prepare(queryRunner: QueryRunner): Promise<MigrationSteps>;
}

/** What is done during migrations, in their transactions. */
export interface MigrationSteps {
  /** Executes a change of a table, so that the feed of changes goes on. */
  alterTable<Result>(alter: () => Promise<Result>): Promise<Result>;

  /** Checks and restores, at the end of a migration, what it must not lose. */
  finish(): Promise<void>;
}

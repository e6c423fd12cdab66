import type { EntityManager } from 'typeorm';
import type { ConstraintError } from '../constraint.error.js';
import type { RawRow, Values } from './entity-columns.js';

/** A row to write in the place of another. */
export interface Change {
  readonly key: string;
  /** What the row is to be. */
  readonly values: Values;
  /** What it has to be now; null when that does not matter. */
  readonly expected: Values | null;
}

/** A row to remove. */
export type Removal = Omit<Change, 'values'>;

/** How a row that was not inserted compares with what is stored. */
export interface Comparison {
  readonly isStored: boolean;
  readonly isIdentical: boolean;
  /** Which of the entity's foreign keys refers to a row that is not there. */
  readonly missing: number | null;
}

/** What made a statement fail: a row in it, a lock that another session holds, or the store. */
export type Fault = 'row' | 'lock' | 'store';

export interface Page {
  /** The key after which it begins; undefined for the first page. */
  readonly after: string | undefined;
  readonly limit: number;
  /** What columns have to hold, by their names. */
  readonly where: ReadonlyMap<string, unknown>;
}

/** The parameters of a statement that reads a page: its limit, the values to look for, the key to begin after. */
export function parametersOf({ where, after, limit }: Page): unknown[] {
  const values = [...where.values()].filter((value) => value !== null);
  return after === undefined ? [limit, ...values] : [limit, ...values, after];
}

/** How many bytes of JSON a page may have before its last row: more than 100 of the longest plants. */
const MAX_PAGE_BYTES = 10 * 1024 * 1024;
/** Up to how many rows a page is not measured: that takes as long as reading them. */
const UNMEASURED_ROWS = 100;

/** Pages of the same shape are read by the same statement. */
export function shapeOf({ where, after, limit }: Page): string {
  const columns = [...where].map(([name, value]) => (value === null ? `${name} NULL` : name));
  return JSON.stringify([...columns, after === undefined, limit <= UNMEASURED_ROWS]);
}

/** Ends a long page, of rows with `key` and `json`, before it has more text than memory should hold. */
export function withinBytes(page: string, { limit }: Page): string {
  if (limit <= UNMEASURED_ROWS) return page;
  return `SELECT key, json FROM (
      SELECT key, json, sum(octet_length(json)) OVER
        (ORDER BY key ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - octet_length(json) AS bytes_before
      FROM (${page}) AS unmeasured) AS measured
    WHERE bytes_before < ${MAX_PAGE_BYTES} ORDER BY key`;
}

/** A page as JSON text. */
export interface WrittenPage {
  readonly text: string;
  /** The key of its last row. */
  readonly last: string;
  readonly hasMore: boolean;
}

type OwnTransaction = <Result>(
  work: (statements: BulkStatements) => Promise<Result>,
) => Promise<Result>;

/** Statements on many rows of one table at once. Each is of a constant text, so that it stays prepared. */
export interface BulkStatements {
  /** Inserts the rows that conflict with nothing, and resolves with their keys. */
  insert(rows: readonly Values[]): Promise<Set<string>>;

  /** Inserts all, or fails with the conflict. */
  insertAll(rows: readonly Values[]): Promise<Set<string>>;

  /** Says of each row, in their order, why it was not inserted. */
  compare(rows: readonly Values[]): Promise<Comparison[]>;

  /** Resolves with the keys of the rows that were there, as expected. No two have the same key. */
  update(changes: readonly Change[]): Promise<Set<string>>;

  /** Resolves with the keys of the rows that were there, as expected. No two have the same key. */
  remove(removals: readonly Removal[]): Promise<Set<string>>;

  find(keys: readonly string[]): Promise<RawRow[]>;

  page(page: Page): Promise<RawRow[]>;

  /** In the order of the pages. */
  jsonPages(pages: readonly Page[]): Promise<WrittenPage[]>;

  /** Does work in one commit; absent where the statements are part of a transaction already. */
  readonly ownTransaction?: OwnTransaction | undefined;

  /** Whether a transaction goes on after a statement in it has failed, as if it had not been. */
  readonly survivesErrors: boolean;

  /** Within a transaction: undoes what the work has done when it fails, and only that. */
  savepoint<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Writes and reads many rows of an entity at once, as one engine does it. */
export interface BulkTable {
  /** How many commits may be under way at the same time. */
  readonly concurrency: number;

  /** How many statements may read at the same time. */
  readonly readConcurrency: number;

  /** How many pages one read is of, at most. */
  readonly pagesAtOnce: number;

  /** Does the work when it may write: alone, where the engine has one writer. */
  write<Result>(work: (statements: BulkStatements) => Promise<Result>): Promise<Result>;

  read<Result>(work: (statements: BulkStatements) => Promise<Result>): Promise<Result>;

  /** Statements that are part of the manager's transaction. */
  within(manager: EntityManager): BulkStatements;

  faultOf(error: unknown): Fault;

  /** What a row that is refused violates, if it is a constraint. */
  constraintOf(error: unknown): ConstraintError | undefined;
}

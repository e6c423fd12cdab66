import type { ObjectLiteral } from 'typeorm';
import type { BatchOperation } from './batch-queue.js';
import type { EntityColumns, RawRow, Values } from './entity-columns.js';
import { nameForeignKey } from './compare-rows.js';
import {
  type FailureClassifier,
  executeIsolated,
  type Result,
  unavailable,
} from './isolate-failures.js';
import type { Session, Transaction } from './session.js';
import type { KeyTexts, TableSql } from './sql-builder.js';
import { splitIntoRounds } from './replace-and-remove-rows.js';

/** The decision to remove a row. */
export const REMOVE = Symbol('remove');

/** The decision of a change: the row to store, {@link REMOVE}, or undefined for no change. */
export type Decision = ObjectLiteral | typeof REMOVE | undefined;

/** A change of one row, which is decided while the row is locked. */
export interface RowChange {
  readonly key: string;
  /** How many characters the change holds in memory while it waits. */
  readonly size?: number;
  /** Gets the current row, or undefined. An error that it throws fails this change alone. */
  readonly decide: (current: ObjectLiteral | undefined) => Decision;
}

/** The row after a change; undefined if there is none. */
export type ChangedRow = ObjectLiteral | undefined;

/** The write that a change has decided on. */
interface Write {
  readonly key: string;
  readonly kind: 'insert' | 'update' | 'remove';
  readonly values: Values;
  readonly change: RowChange;
}

/** The assumed size of a row until one has been read, in characters. */
const FIRST_ESTIMATE = 4_096;

/**
 * Changes rows depending on their current values. A batch locks its rows and then decides its
 * changes: those of the same row in order, each on the result of the one before.
 */
export class ChangeRows implements BatchOperation<RowChange, ChangedRow> {
  readonly name = 'change';
  private rowSize = FIRST_ESTIMATE;

  constructor(
    private readonly sql: TableSql,
    private readonly classifier: FailureClassifier,
  ) {}

  /**
   * A batch holds all its rows in memory. Their size is estimated from the rows that were read
   * last.
   */
  measure({ size = 0 }: RowChange): number {
    return this.rowSize + size;
  }

  getKey({ key }: RowChange): string {
    return key;
  }

  execute(session: Session, changes: readonly RowChange[]): Promise<Result<ChangedRow>[]> {
    const written = new Map<RowChange, Write>();
    return executeIsolated(
      session,
      changes,
      this.classifier,
      (within, part) => this.change(within, part, written),
      (failure, within, change) =>
        nameForeignKey(failure, within, this.sql, written.get(change)?.values),
    );
  }

  /** @param written is filled with the write of each change */
  private async change(
    session: Session,
    changes: readonly RowChange[],
    written: Map<RowChange, Write>,
  ): Promise<Result<ChangedRow>[]> {
    const results = new Map<RowChange, Result<ChangedRow>>();
    const keys = new Set(changes.map(({ key }) => key));
    // A row that does not exist cannot be locked, and another session may insert it. Then all
    // changes are decided once more, and nothing of the first try is stored.
    for (const isLastTry of [false, true]) {
      const transaction = await session.begin();
      try {
        const rows = await this.lock(transaction, keys);
        const writes = this.decide(changes, rows, results);
        for (const write of writes) written.set(write.change, write);
        if (await this.write(transaction, writes, isLastTry)) {
          return changes.map((change) => results.get(change));
        }
        await transaction.rollback();
      } catch (error) {
        await transaction.rollback().catch(() => undefined);
        throw error;
      }
    }
    throw new Error('The store has not inserted all rows of a batch');
  }

  /**
   * Reads and locks rows. Resolves with an error in place of each row that another session holds.
   */
  private async lock(
    session: Session,
    keys: ReadonlySet<string>,
  ): Promise<Map<string, ObjectLiteral | Error>> {
    const { sql, classifier } = this;
    const { columns } = sql;
    const parameters = sql.encodeKeys([...keys]);
    const rows = new Map<string, ObjectLiteral | Error>();
    try {
      const found = await session.attempt<RawRow>(sql.lock, parameters);
      for (const raw of found) rows.set(columns.getRawKey(raw), columns.decodeRow(raw));
      this.estimate(found);
    } catch (error) {
      if (classifier.classify(error) !== 'lock') throw error;
      // The lock timeout has passed. Rows that nobody holds need not fail with the others.
      const held = sql.readKeys(await session.query<KeyTexts>(sql.lockFree, parameters));
      const free = sql.encodeKeys([...keys].filter((key) => !held.has(key)));
      for (const raw of await session.query<RawRow>(sql.lock, free)) {
        rows.set(columns.getRawKey(raw), columns.decodeRow(raw));
      }
      for (const key of held) rows.set(key, unavailable(error));
    }
    return rows;
  }

  private estimate(rows: readonly RawRow[]): void {
    if (rows.length === 0) return;
    let size = 0;
    for (const row of rows) {
      for (const value of Object.values(row)) if (typeof value === 'string') size += value.length;
    }
    this.rowSize = Math.ceil(size / rows.length);
  }

  /** Decides changes in their order. A second try overwrites the results of the first. */
  private decide(
    changes: readonly RowChange[],
    rows: Map<string, ObjectLiteral | Error>,
    results: Map<RowChange, Result<ChangedRow>>,
  ): Write[] {
    const { columns } = this.sql;
    const writes: Write[] = [];
    for (const change of changes) {
      const { key } = change;
      const current = rows.get(key);
      if (current instanceof Error) {
        results.set(change, current);
        continue;
      }
      try {
        const decision = change.decide(current);
        assertDecided(decision, columns, key);
        if (decision === undefined || (decision === REMOVE && current === undefined)) {
          results.set(change, current);
        } else if (decision === REMOVE) {
          writes.push({ key, kind: 'remove', values: [], change });
          rows.delete(key);
          results.set(change, undefined);
        } else {
          const values = columns.encodeRow(decision);
          const kind = current === undefined ? 'insert' : 'update';
          writes.push({ key, kind, values, change });
          const next = columns.decodeValues(values, current);
          countVersion(next, current, columns);
          rows.set(key, next);
          results.set(change, next);
        }
      } catch (error) {
        results.set(change, error as Error);
      }
    }
    return writes;
  }

  /**
   * Executes writes and commits them.
   *
   * @returns false if another session has inserted one of the rows meanwhile; nothing is committed
   *   then
   */
  private async write(
    transaction: Transaction,
    writes: readonly Write[],
    isLastTry: boolean,
  ): Promise<boolean> {
    const { sql } = this;
    const sent: Promise<unknown>[] = [];
    for (const round of splitIntoRounds(writes)) {
      const take = (kind: Write['kind']): Write[] => round.filter((write) => write.kind === kind);
      const [removed, updated, inserted] = [take('remove'), take('update'), take('insert')];
      if (removed.length > 0) {
        const keys = removed.map(({ key }) => key);
        sent.push(transaction.query(sql.remove, sql.encodeKeys(keys)));
      }
      if (updated.length > 0) {
        const rows = updated.map(({ values }) => values);
        sent.push(transaction.query(sql.update, sql.encodeRows(rows)));
      }
      if (inserted.length > 0) {
        const rows = sql.encodeRows(inserted.map(({ values }) => values));
        // On the last try, a row that conflicts by a column other than the key causes an error.
        const statement = isLastTry ? sql.insertAll : sql.insert;
        const insert = transaction.query<KeyTexts>(statement, rows);
        sent.push(insert);
        await Promise.all(sent);
        if (sql.readKeys(await insert).size < inserted.length) return false;
      }
    }
    await transaction.commit(sent);
    return true;
  }
}

/**
 * Checks that a decision is no promise, and keeps the key of the row.
 *
 * @throws TypeError
 */
function assertDecided(decision: Decision, columns: EntityColumns, key: string): void {
  if (decision === undefined || decision === REMOVE) return;
  if (decision instanceof Promise) {
    void decision.catch(() => undefined);
    throw new TypeError('A change must be decided at once: its function returned a promise');
  }
  if (columns.getKey(columns.encodeRow(decision)) !== key) {
    throw new TypeError('A change must not give a row another key');
  }
}

/** Sets the version that the store will give the row, for the next decision. */
function countVersion(
  next: ObjectLiteral,
  current: ObjectLiteral | undefined,
  { metadata: { versionColumn } }: EntityColumns,
): void {
  if (versionColumn === undefined || current === undefined) return;
  versionColumn.setEntityValue(next, Number(versionColumn.getEntityValue(current)) + 1);
}

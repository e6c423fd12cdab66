import type { Session } from '../engine/engine.js';
import type { Values } from '../entities/column-values.js';
import type { RawRow } from '../entities/entity-columns.js';
import { RETRY } from './batch-queue.js';
import type { RowChange } from './row-changes.js';
import type { TableSql } from './sql-builder.js';
import { RowLeftOutError, type Violations } from './violations.js';

/**
 * How rows are stored: `insert` leaves out the rows whose keys are taken, `insertFree` fails for such a
 * row, `add` lets the store count up the keys, and `update` replaces rows.
 */
type StoreKind = 'insert' | 'insertFree' | 'add' | 'update';

/**
 * The statements on rows of one table, in one session. If a statement fails that writes a single row,
 * its error names the constraint that the row violates.
 */
export class RowStatements {
  constructor(
    readonly session: Session,
    readonly sql: TableSql,
    readonly violations: Violations,
  ) {}

  /** Whether the table has columns of bytes. A statement takes the bytes of only one row. */
  get hasBinaryColumns(): boolean {
    return this.sql.columns.bytes.length > 0;
  }

  createLeftOutError(): RowLeftOutError {
    return new RowLeftOutError(this.sql.columns.metadata.tableName);
  }

  async find(changes: readonly RowChange[]): Promise<RawRow[]> {
    return await this.session.query(this.sql.find, this.encodeKeys(changes));
  }

  /**
   * Reads and locks rows.
   *
   * @returns each stored row by its key; {@link RETRY} instead of a row that is not locked
   */
  async lock(changes: readonly RowChange[]): Promise<Map<string, RawRow | typeof RETRY>> {
    const { session, sql } = this;
    const lock = sql.lock(session.waitsForLocks);
    const locked = await session.query<RawRow>(lock, this.encodeKeys(changes));
    const stored: Map<string, RawRow | typeof RETRY> = sql.columns.mapByKey(locked);
    // Where there is only one writer, no other session can have a lock.
    if (sql.dialect.locks === undefined) return stored;
    const missing = changes.filter(({ key }) => !stored.has(key));
    if (missing.length === 0) return stored;
    // Another session has locked such a row, or has just inserted it. It may still change the row, so
    // no decision can be made now.
    for (const row of await this.find(missing)) stored.set(sql.columns.makeKeyOfRaw(row), RETRY);
    return stored;
  }

  /** Locks rows so that other sessions cannot refer to them, and resolves with the locked rows. */
  async lockToRemove(changes: readonly RowChange[]): Promise<RawRow[]> {
    const { session, sql } = this;
    const lock = sql.lock(session.waitsForLocks, 'toRemove');
    return await session.query(lock, this.encodeKeys(changes));
  }

  async hasSameBytes({ key, values = [] }: RowChange): Promise<boolean> {
    const { sql } = this;
    // The first parameter has the other columns.
    const bytes = sql.encodeRows([values]).slice(1);
    const found = await this.session.query(sql.findBytes, [...sql.encodeKeys([key]), ...bytes]);
    return found.length > 0;
  }

  /** Removes rows, and resolves with their keys. */
  async remove(changes: readonly RowChange[]): Promise<RawRow[]> {
    const { session, sql } = this;
    try {
      return await session.query(sql.remove(session.waitsForLocks), this.encodeKeys(changes));
    } catch (error) {
      throw this.violations.toRemovalError(error);
    }
  }

  /**
   * Stores rows.
   *
   * @returns the keys of the stored rows; after `add`, all their columns except for bytes
   */
  async store(kind: StoreKind, rows: readonly Values[]): Promise<RawRow[]> {
    const { session, sql } = this;
    const parts = this.hasBinaryColumns ? rows.map((row) => [row]) : [rows];
    const stored: RawRow[] = [];
    for (const part of parts) {
      const [statement, parameters] =
        kind === 'update'
          ? sql.update(part, session.waitsForLocks)
          : [sql[kind], sql.encodeRows(part)];
      try {
        stored.push(...(await session.query<RawRow>(statement, parameters)));
      } catch (error) {
        // The error does not say which one of several rows has failed.
        if (part.length !== 1) throw error;
        const [row = []] = part;
        throw await this.violations.toRowError(session, error, row);
      }
    }
    return stored;
  }

  /** Lists the changes whose rows are missing from a list of rows. */
  listMissing(changes: Iterable<RowChange>, rows: readonly RawRow[]): RowChange[] {
    const rowsByKey = this.sql.columns.mapByKey(rows);
    return [...changes].filter(({ key }) => !rowsByKey.has(key));
  }

  private encodeKeys(changes: readonly RowChange[]): unknown[] {
    return this.sql.encodeKeys(changes.map(({ key }) => key));
  }
}

import type { Session } from '../engine/engine.js';
import type { RawRow, Values } from '../entities/entity-columns.js';
import { RETRY } from './batch-queue.js';
import type { RowChange, WriteKind } from './row-changes.js';
import type { TableSql } from './sql-builder.js';
import { RowLeftOutError, type Violations } from './violations.js';

/**
 * The statements on rows of one table, in one session. If one fails for a single row, its error names
 * the constraint that the row violates.
 */
export class RowStatements {
  constructor(
    readonly session: Session,
    readonly sql: TableSql,
    readonly violations: Violations,
  ) {}

  /** Rows with binary columns are stored by one statement each. */
  get hasBinaryColumns(): boolean {
    return this.sql.columns.bytes.length > 0;
  }

  get leftOut(): RowLeftOutError {
    return new RowLeftOutError(this.sql.columns.metadata.tableName);
  }

  async find(changes: readonly RowChange[]): Promise<RawRow[]> {
    return await this.session.query(this.sql.find, this.encodeKeys(changes));
  }

  /** Reads and locks rows. A row that another session has locked is {@link RETRY}. */
  async lock(changes: readonly RowChange[]): Promise<Map<string, RawRow | typeof RETRY>> {
    const { session, sql } = this;
    const lock = sql.lock(session.waitsForLocks);
    const locked = await session.query<RawRow>(lock, this.encodeKeys(changes));
    const stored: Map<string, RawRow | typeof RETRY> = sql.columns.mapByKey(locked);
    const missing = changes.filter(({ key }) => !stored.has(key));
    if (missing.length === 0 || sql.dialect.locks === undefined) return stored;
    for (const row of await this.find(missing)) stored.set(sql.columns.getRawKey(row), RETRY);
    return stored;
  }

  /** Locks rows so that others cannot refer to them. Resolves with those that nobody else has locked. */
  async lockToRemove(changes: readonly RowChange[]): Promise<RawRow[]> {
    const { session, sql } = this;
    const lock = sql.lock(session.waitsForLocks, 'toRemove');
    return await session.query(lock, this.encodeKeys(changes));
  }

  async hasSameBytes({ key, values = [] }: RowChange): Promise<boolean> {
    const { sql } = this;
    const [, ...bytes] = sql.encodeRows([values]);
    const found = await this.session.query(sql.findBytes, [...sql.encodeKeys([key]), ...bytes]);
    return found.length > 0;
  }

  /** Removes rows, and resolves with their keys. */
  async remove(changes: readonly RowChange[]): Promise<RawRow[]> {
    const { session, sql } = this;
    try {
      return await session.query(sql.remove(session.waitsForLocks), this.encodeKeys(changes));
    } catch (error) {
      throw this.violations.nameOfRemoval(error);
    }
  }

  /** Stores rows, and resolves with their keys; those of additions with their columns. */
  async store(
    kind: Exclude<WriteKind, 'remove'> | 'insertFree',
    rows: readonly Values[],
  ): Promise<RawRow[]> {
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
        const [row, ...others] = part;
        if (row === undefined || others.length > 0) throw error;
        throw await this.violations.nameOfRow(session, error, row);
      }
    }
    return stored;
  }

  /** Lists those changes whose rows are not among these. */
  listOthers(changes: Iterable<RowChange>, rows: readonly RawRow[]): RowChange[] {
    const written = this.sql.columns.mapByKey(rows);
    return [...changes].filter(({ key }) => !written.has(key));
  }

  private encodeKeys(changes: readonly RowChange[]): unknown[] {
    return this.sql.encodeKeys(changes.map(({ key }) => key));
  }
}

import type { EntityMetadata } from 'typeorm';
import { ConstraintError } from '../constraint.error.js';
import type { DriverErrors } from '../data-source/driver-errors.js';
import { type BatchOperation, RETRY } from './batch-queue.js';
import { countBytes, type RawRow, type Values } from './entity-columns.js';
import type { Session } from './session.js';
import type { TableSql } from './sql-builder.js';

/** The decision to remove a row. */
export const REMOVE = Symbol('remove');

/** The effect of a change on the stored row. */
export interface Decision {
  readonly outcome: unknown;
  /** The row to store, or {@link REMOVE}; undefined leaves the row as it is. */
  readonly write?: Values | typeof REMOVE | undefined;
}

/** The kinds of writes. An addition is an insert of a row whose key the store counts up. */
const KINDS = ['insert', 'add', 'update', 'remove'] as const;
type WriteKind = (typeof KINDS)[number];

/** A change of one row. */
export interface RowChange {
  /** Its name in the metrics. */
  readonly operation: 'create' | 'add' | 'replace' | 'remove' | 'change';
  /** Empty if the store counts up the key. */
  readonly key: string;
  /** The row to store, if that does not depend on the stored row. */
  readonly values?: Values;
  /** The write to try first, without reading the stored row; the change decides if it has no effect. */
  readonly direct?: WriteKind | undefined;
  /**
   * Gets the stored row while nobody else can change it. An error that it throws fails this change
   * alone. It may be called more than once.
   *
   * @param hasSameBytes whether the stored bytes are those of the row to insert
   */
  readonly decide: (stored: RawRow | undefined, hasSameBytes: boolean) => Decision;
}

type Results = Map<RowChange, unknown>;

/**
 * Writes a batch of changes of different rows: locks and reads the rows, lets each change decide,
 * and stores what was decided in one commit. A change that fails, fails alone.
 */
export class WriteRows implements BatchOperation<RowChange, unknown> {
  readonly name = 'write';

  constructor(
    private readonly sql: TableSql,
    private readonly errors: DriverErrors,
    private readonly entities: readonly EntityMetadata[],
  ) {}

  measure({ values = [] }: RowChange): number {
    return countBytes(values);
  }

  getKey({ key, direct }: RowChange): string | undefined {
    return direct === 'add' ? undefined : key;
  }

  getName({ operation }: RowChange): string {
    return operation;
  }

  /**
   * Resolves with the outcome of each change, its error, or {@link RETRY}.
   *
   * @param isDirect whether to execute the direct writes, before the other changes decide
   */
  async execute(
    session: Session,
    changes: readonly RowChange[],
    isDirect = true,
  ): Promise<unknown[]> {
    try {
      const kind = changes[0]?.direct;
      const isOneStatement =
        isDirect &&
        kind !== undefined &&
        changes.every(({ direct }) => direct === kind) &&
        (changes.length === 1 || this.sql.columns.bytes.length === 0);
      // One statement needs no transaction: it is the commit, and the flush.
      if (isOneStatement && !session.isInTransaction) {
        return await this.write(session, changes, isDirect);
      }
      return await session.transaction((within) => this.write(within, changes, isDirect));
    } catch (error) {
      const cause = error instanceof ConstraintError ? 'row' : this.errors.findCause(error);
      if (cause === 'store' || cause === 'statement') throw error;
      if (changes.length === 1) {
        if (cause === 'lock') return [RETRY];
        const isNamed = error instanceof ConstraintError;
        return [isNamed ? error : (this.toConstraintError(error, false) ?? error)];
      }
      // The halves are tried again, and the halves of a failing half, all in one commit.
      const middle = Math.ceil(changes.length / 2);
      return await session.transaction(async (within) => [
        ...(await this.execute(within, changes.slice(0, middle), isDirect)),
        ...(await this.execute(within, changes.slice(middle), isDirect)),
      ]);
    }
  }

  /** Executes the direct writes, and lets the other changes decide. */
  private async write(
    session: Session,
    changes: readonly RowChange[],
    isDirect: boolean,
  ): Promise<unknown[]> {
    const results: Results = new Map();
    if (isDirect) await this.writeDirectly(session, changes, results);
    const rest = changes.filter((change) => !results.has(change));
    if (rest.length > 0 && session.isInTransaction) {
      await this.decide(session, rest, results);
    } else if (rest.length > 0) {
      const others = await this.execute(session, rest, false);
      for (const [place, change] of rest.entries()) results.set(change, others[place]);
    }
    return changes.map((change) => results.get(change));
  }

  /** Executes the direct writes, and sets the results of those that have an effect. */
  private async writeDirectly(
    session: Session,
    changes: readonly RowChange[],
    results: Results,
  ): Promise<void> {
    for (const kind of KINDS) {
      const direct = changes.filter((change) => change.direct === kind);
      if (direct.length === 0) continue;
      const values = direct.map((change) => change.values ?? []);
      const rows =
        kind === 'remove'
          ? await this.remove(session, direct)
          : await this.store(session, kind, values);
      if (kind === 'add') {
        const name = this.sql.columns.counter?.databaseName ?? '';
        // The numbers follow the order of the given rows, but an engine may return the rows in another.
        rows.sort((one, other) => Number(BigInt(String(one[name])) - BigInt(String(other[name]))));
        for (const [place, change] of direct.entries()) results.set(change, rows[place]);
      } else {
        const done = this.readKeys(rows);
        for (const change of direct) {
          const outcome = change.operation === 'create' ? 'created' : true;
          if (done.has(change.key)) results.set(change, outcome);
        }
      }
    }
  }

  /** Lets changes decide on their locked rows, and writes what they decide. */
  private async decide(
    session: Session,
    changes: readonly RowChange[],
    results: Results,
  ): Promise<void> {
    const stored = await this.lock(session, changes);
    const hasBytes = this.sql.columns.bytes.length > 0;
    const removed: RowChange[] = [];
    const [updated, inserted] = [new Map<RowChange, Values>(), new Map<RowChange, Values>()];
    for (const change of changes) {
      const row = stored.get(change.key);
      if (row === RETRY) {
        results.set(change, RETRY);
        continue;
      }
      try {
        const hasSameBytes =
          !hasBytes || row === undefined || (await this.hasSameBytes(session, change));
        const { outcome, write } = change.decide(row, hasSameBytes);
        results.set(change, outcome);
        if (write === REMOVE && row !== undefined) removed.push(change);
        if (write === undefined || write === REMOVE) continue;
        (row === undefined ? inserted : updated).set(change, write);
      } catch (error) {
        results.set(change, error);
      }
    }
    /** Tries the writes again that another session has prevented. */
    const confirm = (writes: Iterable<RowChange>, rows: readonly RawRow[]): void => {
      const done = this.readKeys(rows);
      for (const change of writes) if (!done.has(change.key)) results.set(change, RETRY);
    };
    if (removed.length > 0) confirm(removed, await this.remove(session, removed));
    if (updated.size > 0) await this.store(session, 'update', [...updated.values()]);
    if (inserted.size > 0) {
      confirm(inserted.keys(), await this.store(session, 'insert', [...inserted.values()]));
    }
  }

  /** Reads and locks rows. A row that another session has locked is {@link RETRY}. */
  private async lock(
    session: Session,
    changes: readonly RowChange[],
  ): Promise<Map<string, RawRow | typeof RETRY>> {
    const { sql } = this;
    const keys = changes.map(({ key }) => key);
    const stored = new Map<string, RawRow | typeof RETRY>();
    const lock = sql.lock(session.waitsForLocks);
    const locked = await session.query<RawRow>(lock, sql.encodeKeys(keys));
    for (const row of locked) stored.set(sql.columns.getRawKey(row), row);
    const missing = keys.filter((key) => !stored.has(key));
    if (missing.length === 0 || sql.dialect.locks === undefined) return stored;
    const held = await session.query<RawRow>(sql.find, sql.encodeKeys(missing));
    for (const row of held) stored.set(sql.columns.getRawKey(row), RETRY);
    return stored;
  }

  private async hasSameBytes(
    session: Session,
    { key, direct, values = [] }: RowChange,
  ): Promise<boolean> {
    if (direct !== 'insert') return true;
    const { sql } = this;
    const [, ...bytes] = sql.encodeRows([values]);
    const found = await session.query(sql.findBytes, [...sql.encodeKeys([key]), ...bytes]);
    return found.length > 0;
  }

  /** Removes rows, and resolves with their keys. */
  private async remove(session: Session, changes: readonly RowChange[]): Promise<RawRow[]> {
    const keys = this.sql.encodeKeys(changes.map(({ key }) => key));
    try {
      return await session.query(this.sql.remove(session.waitsForLocks), keys);
    } catch (error) {
      throw this.toConstraintError(error, true) ?? error;
    }
  }

  /**
   * Stores rows, and resolves with their keys; those of additions with their columns. If the table
   * has columns of bytes, each row is stored by a statement of its own.
   */
  private async store(
    session: Session,
    kind: Exclude<WriteKind, 'remove'>,
    rows: readonly Values[],
  ): Promise<RawRow[]> {
    const { sql } = this;
    const parts = sql.columns.bytes.length === 0 ? [rows] : rows.map((row) => [row]);
    const results: RawRow[] = [];
    for (const part of parts) {
      const [statement, parameters] =
        kind === 'update'
          ? sql.update(part, session.waitsForLocks)
          : [sql[kind], sql.encodeRows(part)];
      try {
        results.push(...(await session.query<RawRow>(statement, parameters)));
      } catch (error) {
        throw part.length > 1 ? error : await this.nameForeignKey(error, session, part);
      }
    }
    return results;
  }

  /** Names the foreign key that a row violates, since not every engine says which it was. */
  private async nameForeignKey(
    error: unknown,
    session: Session,
    row: readonly Values[],
  ): Promise<unknown> {
    const { sql } = this;
    const failure = this.toConstraintError(error, false);
    if (failure?.kind !== 'foreign key' || failure.properties.length > 0) return failure ?? error;
    const parameters = sql.encodeRows(row, []);
    const [found] = await session.query<{ missing: number | null }>(sql.missingParent, parameters);
    const { tableName, foreignKeys } = sql.columns.metadata;
    const foreignKey = foreignKeys[found?.missing ?? NaN];
    if (foreignKey === undefined) return failure;
    const properties = foreignKey.columns.map(({ propertyPath }) => propertyPath);
    return new ConstraintError(failure.kind, tableName, properties, foreignKey.name, {
      cause: failure,
    });
  }

  private toConstraintError(error: unknown, isRemoval: boolean): ConstraintError | undefined {
    // The query runner of a module's transaction has converted it, without knowing the row.
    const cause = error instanceof ConstraintError ? error.cause : error;
    const { metadata } = this.sql.columns;
    const written = { table: metadata.tableName, isRemoval };
    return this.errors.toConstraintError(cause, [metadata, ...this.entities], written);
  }

  private readKeys(rows: readonly RawRow[]): Set<string> {
    return new Set(rows.map((row) => this.sql.columns.getRawKey(row)));
  }
}

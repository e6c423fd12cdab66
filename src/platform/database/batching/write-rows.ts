import type { EntityMetadata } from 'typeorm';
import { ConstraintError } from '../constraint.error.js';
import type { DriverErrors } from '../data-source/driver-errors.js';
import { type BatchOperation, RETRY } from './batch-queue.js';
import type { RawRow, Values } from './entity-columns.js';
import type { Session, Statement } from './session.js';
import type { TableSql } from './sql-builder.js';

/** The decision to remove a row. */
export const REMOVE = Symbol('remove');

/** The effect of a change on the stored row. */
export interface Decision {
  readonly outcome: unknown;
  /** The row to store, or {@link REMOVE}; undefined leaves the row as it is. */
  readonly write?: Values | typeof REMOVE | undefined;
}

/** A write that does not depend on the stored row. */
export interface DirectWrite {
  /** An addition is an insert of a row whose key the store counts up: the change has no key then. */
  readonly kind: 'insert' | 'add' | 'update' | 'remove';
  /** The row to store. */
  readonly values: Values;
  /** The outcome of the change if the write has an effect; that of an addition is the stored row. */
  readonly outcome: unknown;
}

/** A change of one row. */
export interface RowChange {
  /** Its name in the metrics. */
  readonly operation: 'create' | 'add' | 'replace' | 'remove' | 'change';
  readonly key: string;
  /** How many bytes the change holds in memory. */
  readonly size: number;
  /** The write to try first, without reading the stored row; the change decides if it has no effect. */
  readonly direct?: DirectWrite | undefined;
  /**
   * Gets the stored row while nobody else can change it. An error that it throws fails this change
   * alone. It may be called more than once.
   *
   * @param hasSameBytes whether the stored bytes are those of the row to insert
   */
  readonly decide: (stored: RawRow | undefined, hasSameBytes: boolean) => Decision;
}

/** A row to write, and the change that has decided on it. */
interface Write {
  readonly change: RowChange;
  readonly values: Values;
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

  measure({ size }: RowChange): number {
    return size;
  }

  getKey({ key, direct }: RowChange): string | undefined {
    return direct?.kind === 'add' ? undefined : key;
  }

  getName({ operation }: RowChange): string {
    return operation;
  }

  /** Resolves with the outcome of each change, its error, or {@link RETRY}. */
  async execute(session: Session, changes: readonly RowChange[]): Promise<readonly unknown[]> {
    return await this.attempt(session, changes, true);
  }

  /** @param isDirect whether to execute the direct writes, before the other changes decide */
  private async attempt(
    session: Session,
    changes: readonly RowChange[],
    isDirect: boolean,
  ): Promise<unknown[]> {
    try {
      const kind = changes[0]?.direct?.kind;
      const isOneStatement =
        isDirect &&
        kind !== undefined &&
        changes.every(({ direct }) => direct?.kind === kind) &&
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
        ...(await this.attempt(within, changes.slice(0, middle), isDirect)),
        ...(await this.attempt(within, changes.slice(middle), isDirect)),
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
      const others = await this.attempt(session, rest, false);
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
    const writes: Record<DirectWrite['kind'], Write[]> = {
      insert: [],
      add: [],
      update: [],
      remove: [],
    };
    for (const change of changes) {
      const { direct } = change;
      if (direct !== undefined) writes[direct.kind].push({ change, values: direct.values });
    }
    for (const kind of ['insert', 'update', 'remove'] as const) {
      if (writes[kind].length === 0) continue;
      const keys = this.readKeys(await this.send(session, kind, writes[kind]));
      for (const { change } of writes[kind]) {
        if (keys.has(change.key)) results.set(change, change.direct?.outcome);
      }
    }
    if (writes.add.length === 0) return;
    const rows = await this.send(session, 'add', writes.add);
    const name = this.sql.columns.counter?.databaseName ?? '';
    // The numbers follow the order of the given rows, but an engine may return the rows in another.
    rows.sort((one, other) => Number(BigInt(String(one[name])) - BigInt(String(other[name]))));
    for (const [place, { change }] of writes.add.entries()) results.set(change, rows[place]);
  }

  /** Lets changes decide on their locked rows, and writes what they decide. */
  private async decide(
    session: Session,
    changes: readonly RowChange[],
    results: Results,
  ): Promise<void> {
    const stored = await this.lock(session, changes);
    const [removed, updated, inserted]: [Write[], Write[], Write[]] = [[], [], []];
    for (const change of changes) {
      const row = stored.get(change.key);
      if (row === RETRY) {
        results.set(change, RETRY);
        continue;
      }
      try {
        const hasSameBytes = row === undefined || (await this.hasSameBytes(session, change));
        const { outcome, write } = change.decide(row, hasSameBytes);
        results.set(change, outcome);
        if (write === REMOVE && row !== undefined) removed.push({ change, values: [] });
        if (write === undefined || write === REMOVE) continue;
        (row === undefined ? inserted : updated).push({ change, values: write });
      } catch (error) {
        results.set(change, error);
      }
    }
    /** Tries the writes again that another session has prevented. */
    const confirm = (writes: readonly Write[], rows: readonly RawRow[]): void => {
      if (rows.length === writes.length) return;
      const done = this.readKeys(rows);
      for (const { change } of writes) if (!done.has(change.key)) results.set(change, RETRY);
    };
    if (removed.length > 0) confirm(removed, await this.send(session, 'remove', removed));
    if (updated.length > 0) await this.send(session, 'update', updated);
    if (inserted.length > 0) confirm(inserted, await this.send(session, 'insert', inserted));
  }

  /** Reads and locks rows. A row that another session has locked is {@link RETRY}. */
  private async lock(
    session: Session,
    changes: readonly RowChange[],
  ): Promise<Map<string, RawRow | typeof RETRY>> {
    const { sql } = this;
    const { columns, dialect } = sql;
    const read = async (statement: Statement, keys: readonly string[]): Promise<RawRow[]> =>
      await session.query(statement, [dialect.encodeKeys(columns, keys)]);
    const keys = changes.map(({ key }) => key);
    const stored = new Map<string, RawRow | typeof RETRY>();
    for (const row of await read(session.waitsForLocks ? sql.lock : sql.lockFree, keys)) {
      stored.set(columns.getRawKey(row), row);
    }
    const missing = keys.filter((key) => !stored.has(key));
    if (missing.length > 0 && dialect.locks !== undefined) {
      for (const row of await read(sql.find, missing)) stored.set(columns.getRawKey(row), RETRY);
    }
    return stored;
  }

  private async hasSameBytes(session: Session, { key, direct }: RowChange): Promise<boolean> {
    const { sql } = this;
    if (direct?.kind !== 'insert' || sql.columns.bytes.length === 0) return true;
    const [, ...bytes] = sql.encodeRows([direct.values]);
    const found = await session.query(sql.findBytes, [...sql.encodeKeys([key]), ...bytes]);
    return found.length > 0;
  }

  /**
   * Executes a statement that writes rows, and resolves with their keys; those of additions with
   * their columns. If the table has columns of bytes, each row is stored by a statement of its own.
   */
  private async send(
    session: Session,
    kind: DirectWrite['kind'],
    writes: readonly Write[],
  ): Promise<RawRow[]> {
    const { sql } = this;
    if (kind === 'remove') {
      const keys = sql.encodeKeys(writes.map(({ change }) => change.key));
      try {
        return await session.query(session.waitsForLocks ? sql.remove : sql.removeFree, keys);
      } catch (error) {
        throw this.toConstraintError(error, true) ?? error;
      }
    }
    const rows = writes.map(({ values }) => values);
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
    if (failure?.kind !== 'foreign key' || failure.properties.length > 0) return error;
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

import type { EntityMetadata } from 'typeorm';
import type { DriverErrors, FailureCause, Session } from '../engine/engine.js';
import { ConstraintError } from '../errors/constraint.error.js';
import { StoreUnavailableError } from '../errors/store.errors.js';
import {
  type BatchOperation,
  Failure,
  MAX_BATCH_BYTES,
  Refusal,
  Rejection,
  type Result,
  RETRY,
} from './batch-queue.js';
import { countBytes, type RawRow, type Values } from '../entities/entity-columns.js';
import { TransactionLostError } from '../engine/sessions.js';
import type { TableSql } from './sql-builder.js';

/** How many rows are read at a time to decide about them, since they may be long. */
const MAX_DECIDED = 128;

/** The decision to remove a row. */
export const REMOVE = Symbol('remove');

/** The effect of a change on the stored row. */
export interface Decision<Outcome> {
  readonly outcome: Outcome;
  /** The row to store, or {@link REMOVE}; undefined leaves the row as it is. */
  readonly write?: Values | typeof REMOVE | undefined;
}

/** The kinds of writes. An addition is an insert of a row whose key the store counts up. */
const KINDS = ['insert', 'add', 'update', 'remove'] as const;
type WriteKind = (typeof KINDS)[number];

/** A write that does not depend on the stored row. */
export interface DirectWrite<Outcome> {
  readonly kind: WriteKind;
  /** Receives the key of the row that was written; of an addition the row. */
  readonly getOutcome: (row: RawRow) => Outcome;
}

/** A change of one row. */
export interface RowChange<Outcome = unknown> {
  /** Its name in the metrics. */
  readonly operation: 'create' | 'add' | 'replace' | 'remove' | 'change';
  /** Empty if the store counts up the key. */
  readonly key: string;
  /** The row to store, if that does not depend on the stored row. */
  readonly values?: Values;
  /** The write to try first. The change decides if the write has no effect. */
  readonly direct?: DirectWrite<Outcome> | undefined;
  /**
   * Receives the stored row while nobody else can change it. What it throws fails this change alone. It
   * may be called more than once.
   *
   * @param hasSameBytes whether the stored bytes are those of the row to create
   */
  readonly decide: (stored: RawRow | undefined, hasSameBytes: boolean) => Decision<Outcome>;
}

type Results = Map<RowChange, Result<unknown>>;

/** A trigger has kept a row from being written, without an error of the engine. */
class RowLeftOutError extends Error {
  constructor(table: string) {
    super(`A trigger of ${table} has left the row out: nothing is stored`);
  }
}

/**
 * Writes a batch of changes in one commit: locks and reads the rows, lets each change decide, and
 * stores what was decided. Changes of the same row see each other's results, in their order. A
 * change that fails, fails alone, whatever the reason, unless the store has failed.
 */
export function writeRows(
  sql: TableSql,
  errors: DriverErrors,
  entities: readonly EntityMetadata[],
): BatchOperation<RowChange, unknown> {
  return {
    name: 'write',
    measure: ({ values = [] }) => countBytes(values),
    getKey: ({ key, direct }) => (direct?.kind === 'add' ? undefined : key),
    getName: ({ operation }) => operation,
    execute: (session, changes) => new Batch(session, sql, errors, entities).storeAll(changes),
  };
}

/** A batch while it is stored. */
class Batch {
  /**
   * The keys of the rows with a change that is tried again later. Further changes of these rows in this
   * batch wait too, so that concurrent changes of a row are made in the order of their calls.
   */
  private readonly heldKeys = new Set<string>();
  /**
   * Whether triggers of a module may change rows, or end a transaction. Without any, a statement that
   * fails leaves nothing, and needs no savepoint. Undefined while nobody has looked.
   */
  private hasTriggers: boolean | undefined;

  constructor(
    private readonly session: Session,
    private readonly sql: TableSql,
    private readonly errors: DriverErrors,
    private readonly entities: readonly EntityMetadata[],
  ) {}

  async storeAll(changes: readonly RowChange[]): Promise<Result<unknown>[]> {
    const results = await this.storeTogether(changes);
    if (results !== undefined) return results;
    try {
      return await this.session.transaction(async () => {
        const { shortenWaits } = this.sql.dialect.locks ?? {};
        if (shortenWaits !== undefined) await this.session.query(shortenWaits, []);
        await this.findTriggers();
        return await this.storeHalves(changes);
      });
    } catch (error) {
      if (this.findCause(error) === 'store') throw error;
      // A constraint is violated that is checked at the commit, or a trigger has ended the
      // transaction. So the halves cannot share a commit.
      const [first, second] = halve(changes);
      const firstResults = await this.storeAll(first);
      return [...firstResults, ...(await this.storeAll(second))];
    }
  }

  /** Stores all changes but those that fail. In the end, each of these was tried alone. */
  private async storeMost(changes: readonly RowChange[]): Promise<Result<unknown>[]> {
    return (await this.storeTogether(changes)) ?? (await this.storeHalves(changes));
  }

  /** Does the same for changes of which at least one fails, so that they need not be tried together. */
  private async storeHalves(changes: readonly RowChange[]): Promise<Result<unknown>[]> {
    const [first, second] = halve(changes);
    const firstResults = await this.storeMost(first);
    const hasFailed = firstResults.some((one) => one instanceof Refusal || one === RETRY);
    const isFailureInSecond = !hasFailed && second.length > 1;
    const secondResults = isFailureInSecond
      ? await this.storeHalves(second)
      : await this.storeMost(second);
    return [...firstResults, ...secondResults];
  }

  /**
   * Stores changes as a whole or not at all. Resolves with undefined if one of several fails; a
   * single change has its failure as its result.
   */
  private async storeTogether(
    changes: readonly RowChange[],
  ): Promise<Result<unknown>[] | undefined> {
    try {
      const kind = this.findKind(changes);
      if (kind !== undefined && this.isWhole(kind, changes)) {
        return await this.writeOneStatement(kind, changes);
      }
      return await this.session.transaction(() => this.writeRounds(changes));
    } catch (error) {
      const cause = this.findCause(error);
      if (cause === 'store' || error instanceof TransactionLostError) throw error;
      const [only] = changes;
      if (only === undefined || changes.length > 1) return undefined;
      if (cause === 'lock') {
        this.hold(only);
        return [RETRY];
      }
      if (error instanceof ConstraintError) return [new Refusal(error)];
      // Statements have named their errors, and at a commit only a removal violates a foreign key.
      return [new Refusal(this.toConstraintError(error, true) ?? error)];
    }
  }

  /** Whether one statement for changes stores all of them or none, without a transaction around it. */
  private isWhole(kind: WriteKind, changes: readonly RowChange[]): boolean {
    if (this.hasTriggers === false) return true;
    // A trigger may leave rows out. Of several additions nobody knows which, and all are undone.
    const isKnownWhichAreWritten = kind !== 'add' || changes.length === 1;
    return isKnownWhichAreWritten && !this.session.isInTransaction;
  }

  private async findTriggers(): Promise<boolean> {
    const { columns, dialect } = this.sql;
    if (dialect.findTriggers === undefined) return true;
    if (this.hasTriggers === undefined) {
      const { tableName } = columns.metadata;
      const triggers = await this.session.query(dialect.findTriggers, [tableName]);
      this.hasTriggers = triggers.length > 0;
    }
    return this.hasTriggers;
  }

  private findCause(error: unknown): FailureCause {
    if (error instanceof ConstraintError || error instanceof RowLeftOutError) return 'row';
    return error instanceof StoreUnavailableError ? 'store' : this.errors.findCause(error);
  }

  /** The kind of all changes, if they are first tried by one statement. */
  private findKind(changes: readonly RowChange[]): WriteKind | undefined {
    // Only rounds leave out the rows that are held.
    if (this.heldKeys.size > 0) return undefined;
    const kind = changes[0]?.direct?.kind;
    if (!changes.every(({ direct }) => direct?.kind === kind)) return undefined;
    if (changes.length === 1) return kind;
    // Each row is a statement of its own.
    if (this.hasBinaryColumns) return undefined;
    // Each addition is a row of its own.
    if (kind === 'add') return kind;
    const rows = new Set(changes.map(({ key }) => key));
    return rows.size === changes.length ? kind : undefined;
  }

  /** Rows with binary columns are stored by one statement each. */
  private get hasBinaryColumns(): boolean {
    return this.sql.columns.bytes.length > 0;
  }

  /** Executes direct writes by one statement, and lets those decide that had no effect. */
  private async writeOneStatement(
    kind: WriteKind,
    changes: readonly RowChange[],
  ): Promise<Result<unknown>[]> {
    const results: Results = new Map();
    await this.writeDirectly(kind, changes, results);
    const rest = changes.filter((change) => !results.has(change));
    if (rest.length > 0) {
      const deciding = rest.map((change) => ({ ...change, direct: undefined }));
      const decided = await this.storeAll(deciding);
      for (const [place, change] of rest.entries()) results.set(change, decided[place]);
    }
    return listResults(changes, results);
  }

  /** Writes the first change of each row, then the second one, and so on. */
  private async writeRounds(changes: readonly RowChange[]): Promise<Result<unknown>[]> {
    const rounds = splitIntoRounds(changes);
    const rows = rounds[0]?.length ?? 0;
    if (rounds.length > 1 && rows <= MAX_DECIDED && !this.hasBinaryColumns) {
      const resultsInOrder = await this.writeInOrder(changes);
      if (resultsInOrder !== undefined) return listResults(changes, resultsInOrder);
    }
    const results: Results = new Map();
    for (const round of rounds) await this.writeRound(round, results);
    return listResults(changes, results);
  }

  /** Writes changes of different rows. */
  private async writeRound(round: readonly RowChange[], results: Results): Promise<void> {
    const { heldKeys } = this;
    const hasNoResult = (change: RowChange): boolean => !results.has(change);
    for (const change of round) if (heldKeys.has(change.key)) results.set(change, RETRY);
    for (const kind of KINDS) {
      const ofKind = round.filter(({ direct }) => direct?.kind === kind);
      const writes = ofKind.filter(hasNoResult);
      if (writes.length > 0) await this.writeDirectly(kind, writes, results);
    }
    await this.decide(round.filter(hasNoResult), results);
    for (const change of round) if (results.get(change) === RETRY) this.hold(change);
  }

  private hold({ key, direct }: RowChange): void {
    // Each addition is a row of its own, without a key.
    if (direct?.kind !== 'add') this.heldKeys.add(key);
  }

  /**
   * Lets each change decide on the row that the one before it leaves, and stores all of these rows,
   * one after another, by one statement. Resolves with undefined if this is not possible, and nothing
   * is stored then.
   */
  private async writeInOrder(changes: readonly RowChange[]): Promise<Results | undefined> {
    // A trigger may change a row once it is stored, and the next change would not see that.
    if (await this.findTriggers()) return undefined;
    const { columns } = this.sql;
    const current = await this.lock(changes);
    // Rows with binary columns are not written in order.
    const hasSameBytes = true;
    const results: Results = new Map();
    const written: Values[] = [];
    let bytes = 0;
    for (const change of changes) {
      const row = current.get(change.key);
      if (change.direct?.kind === 'add' || row === RETRY) return undefined;
      const write = decideAlone(change, row, hasSameBytes, results);
      // The statement only inserts and updates.
      if (write === REMOVE && row !== undefined) return undefined;
      if (write === undefined || write === REMOVE) continue;
      const next = columns.makeRaw(write, row);
      current.set(change.key, next);
      const values = columns.all.map(({ databaseName }) => next[databaseName]);
      written.push(values);
      bytes += countBytes(values);
      if (bytes > MAX_BATCH_BYTES) return undefined;
    }
    if (written.length > 0) {
      await this.session.query(this.sql.putInOrder(), this.sql.encodeRows(written));
    }
    return results;
  }

  /**
   * Executes direct writes of one kind, and sets the results of those that have an effect.
   *
   * @throws RowLeftOutError when an addition has none
   */
  private async writeDirectly(
    kind: WriteKind,
    writes: readonly RowChange[],
    results: Results,
  ): Promise<void> {
    const values = writes.map((change) => change.values ?? []);
    const rows = kind === 'remove' ? await this.remove(writes) : await this.store(kind, values);
    if (kind === 'add') {
      // Of several additions nobody knows which one is left out.
      if (rows.length !== writes.length) throw this.leftOut;
      this.sortAdded(rows);
    }
    const rowsByKey = this.sql.columns.mapByKey(rows);
    for (const [place, change] of writes.entries()) {
      const row = kind === 'add' ? rows[place] : rowsByKey.get(change.key);
      if (row !== undefined) results.set(change, change.direct?.getOutcome(row));
    }
  }

  private get leftOut(): RowLeftOutError {
    return new RowLeftOutError(this.sql.columns.metadata.tableName);
  }

  /** Sorts added rows in the order of their additions, which is that of their numbers. */
  private sortAdded(rows: RawRow[]): void {
    const name = this.sql.columns.counter?.databaseName ?? '';
    const getNumber = (row: RawRow): bigint => BigInt(String(row[name]));
    // An engine may return the rows in another order.
    rows.sort((one, other) => Number(getNumber(one) - getNumber(other)));
  }

  /**
   * Lets changes of different rows decide. Once the decided rows reach the size of a batch, the
   * other changes wait for another one.
   */
  private async decide(changes: readonly RowChange[], results: Results): Promise<void> {
    let bytes = 0;
    for (let start = 0; start < changes.length; start += MAX_DECIDED) {
      const part = changes.slice(start, start + MAX_DECIDED);
      if (bytes < MAX_BATCH_BYTES) bytes += await this.decidePart(part, results);
      else for (const change of part) results.set(change, RETRY);
    }
  }

  /** Locks and reads rows, lets changes decide, and writes what they decide: so many bytes. */
  private async decidePart(changes: readonly RowChange[], results: Results): Promise<number> {
    const stored = await this.lock(changes);
    const removed: RowChange[] = [];
    const updated = new Map<RowChange, Values>();
    const inserted = new Map<RowChange, Values>();
    for (const change of changes) {
      const row = stored.get(change.key);
      if (row === RETRY) {
        results.set(change, RETRY);
        continue;
      }
      // Waiting for an answer that is known would take each change a promise.
      const comparesBytes =
        row !== undefined && change.operation === 'create' && this.hasBinaryColumns;
      const hasSameBytes = !comparesBytes || (await this.hasSameBytes(change));
      const write = decideAlone(change, row, hasSameBytes, results);
      if (write === undefined) continue;
      if (write === REMOVE) {
        if (row !== undefined) removed.push(change);
      } else (row === undefined ? inserted : updated).set(change, write);
    }
    if (removed.length > 0) await this.removeLocked(removed, results);
    if (updated.size > 0) {
      const rows = await this.store('update', [...updated.values()]);
      this.failLeftOut(updated.keys(), rows, results);
    }
    if (inserted.size > 0) await this.insert(inserted, results);
    return countBytes([...updated.values(), ...inserted.values()].flat());
  }

  /** Removes rows that are locked. Another session may have referred to one, which is tried again. */
  private async removeLocked(changes: readonly RowChange[], results: Results): Promise<void> {
    const { session, sql } = this;
    const others = this.listOthers(changes, await this.remove(changes));
    if (others.length === 0) return;
    const lock = sql.lock(session.waitsForLocks, 'toRemove');
    const keys = sql.encodeKeys(others.map(({ key }) => key));
    const referredTo = this.listOthers(others, await session.query<RawRow>(lock, keys));
    for (const change of referredTo) results.set(change, RETRY);
    const free = others.filter((change) => !referredTo.includes(change));
    if (free.length === 0) return;
    // The other session may have ended meanwhile. Now only a trigger can leave a row out.
    this.failLeftOut(free, await this.remove(free), results);
  }

  /** Inserts rows. Another session may have inserted one with the key, which is tried again. */
  private async insert(inserted: Map<RowChange, Values>, results: Results): Promise<void> {
    const { session, sql } = this;
    const rows = await this.store('insert', [...inserted.values()]);
    const others = this.listOthers(inserted.keys(), rows);
    if (others.length === 0) return;
    const keys = sql.encodeKeys(others.map(({ key }) => key));
    const taken = await session.query<RawRow>(sql.find, keys);
    const free = this.listOthers(others, taken);
    for (const change of others) if (!free.includes(change)) results.set(change, RETRY);
    if (free.length === 0) return;
    const values = free.map((change) => inserted.get(change) ?? []);
    try {
      // Now only a trigger can leave a row out.
      const stored = await session.transaction(() => this.store('insertFree', values));
      this.failLeftOut(free, stored, results);
    } catch (error) {
      if (this.findCause(error) === 'store' || error instanceof TransactionLostError) throw error;
      for (const change of free) results.set(change, RETRY);
    }
  }

  /** Fails those changes whose rows are not among these: a trigger has left them out. */
  private failLeftOut(
    changes: Iterable<RowChange>,
    rows: readonly RawRow[],
    results: Results,
  ): void {
    for (const change of this.listOthers(changes, rows)) {
      results.set(change, new Failure(this.leftOut));
    }
  }

  /** Lists those changes whose rows are not among these. */
  private listOthers(changes: Iterable<RowChange>, rows: readonly RawRow[]): RowChange[] {
    const written = this.sql.columns.mapByKey(rows);
    return [...changes].filter(({ key }) => !written.has(key));
  }

  /** Reads and locks rows. A row that another session has locked is {@link RETRY}. */
  private async lock(changes: readonly RowChange[]): Promise<Map<string, RawRow | typeof RETRY>> {
    const { session, sql } = this;
    const keys = changes.map(({ key }) => key);
    const lock = sql.lock(session.waitsForLocks);
    const locked = await session.query<RawRow>(lock, sql.encodeKeys(keys));
    const stored: Map<string, RawRow | typeof RETRY> = sql.columns.mapByKey(locked);
    const missing = keys.filter((key) => !stored.has(key));
    if (missing.length === 0 || sql.dialect.locks === undefined) return stored;
    const held = await session.query<RawRow>(sql.find, sql.encodeKeys(missing));
    for (const row of held) stored.set(sql.columns.getRawKey(row), RETRY);
    return stored;
  }

  private async hasSameBytes({ key, values = [] }: RowChange): Promise<boolean> {
    const { sql } = this;
    const [, ...bytes] = sql.encodeRows([values]);
    const found = await this.session.query(sql.findBytes, [...sql.encodeKeys([key]), ...bytes]);
    return found.length > 0;
  }

  /** Removes rows, and resolves with their keys. */
  private async remove(changes: readonly RowChange[]): Promise<RawRow[]> {
    const { session, sql } = this;
    const keys = sql.encodeKeys(changes.map(({ key }) => key));
    try {
      return await session.query(sql.remove(session.waitsForLocks), keys);
    } catch (error) {
      throw this.toConstraintError(error, true) ?? error;
    }
  }

  /** Stores rows, and resolves with their keys; those of additions with their columns. */
  private async store(
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
        throw part.length > 1 ? error : await this.nameForeignKey(error, part);
      }
    }
    return stored;
  }

  /** Names the foreign key that a row violates, since not every engine says which it was. */
  private async nameForeignKey(error: unknown, row: readonly Values[]): Promise<unknown> {
    const { sql } = this;
    const failure = this.toConstraintError(error, false);
    if (failure?.kind !== 'foreign key' || failure.properties.length > 0) return failure ?? error;
    const parameters = sql.encodeRows(row, []);
    const [found] = await this.session.query<{ missing: number | null }>(
      sql.missingParent,
      parameters,
    );
    const { metadata } = sql.columns;
    const foreignKey = metadata.foreignKeys[found?.missing ?? NaN];
    if (foreignKey === undefined) return failure;
    return new ConstraintError({
      kind: 'foreign key',
      table: metadata.tableName,
      properties: foreignKey.columns.map(({ propertyPath }) => propertyPath),
      constraint: foreignKey.name,
      entity: metadata,
      cause: failure,
    });
  }

  private toConstraintError(error: unknown, isRemoval: boolean): ConstraintError | undefined {
    // The query runner of a module's transaction has converted it, without knowing the row.
    const cause = error instanceof ConstraintError ? error.original : error;
    const { metadata } = this.sql.columns;
    const written = { table: metadata.tableName, isRemoval };
    return this.errors.toConstraintError(cause, [metadata, ...this.entities], written);
  }
}

function halve<Item>(items: readonly Item[]): [Item[], Item[]] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

/** Splits changes into rounds: the n-th round has the n-th change of each row. */
function splitIntoRounds(changes: readonly RowChange[]): RowChange[][] {
  const rounds: RowChange[][] = [];
  const counts = new Map<string, number>();
  for (const change of changes) {
    const count = counts.get(change.key) ?? 0;
    // Each addition is a row of its own.
    if (change.direct?.kind !== 'add') counts.set(change.key, count + 1);
    (rounds[count] ??= []).push(change);
  }
  return rounds;
}

/** Lets a change decide, and sets its result. Returns what is to be written. */
function decideAlone(
  change: RowChange,
  stored: RawRow | undefined,
  hasSameBytes: boolean,
  results: Results,
): Decision<unknown>['write'] {
  try {
    const { outcome, write } = change.decide(stored, hasSameBytes);
    results.set(change, outcome);
    return write;
  } catch (reason) {
    results.set(change, new Rejection(reason));
    return undefined;
  }
}

/** @throws StoreUnavailableError when a change has no result: nobody knows whether it is stored */
function listResults(changes: readonly RowChange[], results: Results): Result<unknown>[] {
  return changes.map((change) => {
    const result = results.get(change);
    if (result !== undefined || results.has(change)) return result;
    throw new StoreUnavailableError(new Error('A change of a row has no result'));
  });
}

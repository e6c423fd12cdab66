import { countBytes, type RawRow, type Values } from '../entities/entity-columns.js';
import { MAX_BATCH_BYTES, RETRY } from './batch-queue.js';
import { decideAlone, decideRows, MAX_DECIDED } from './decided-rows.js';
import {
  isAddition,
  KINDS,
  REMOVE,
  type Results,
  type RowChange,
  type WriteKind,
} from './row-changes.js';
import type { RowStatements } from './row-statements.js';

/**
 * The ways of writing the changes of a batch: by one statement, in rounds, or all in their order. Each
 * throws the error of a change that is refused, and otherwise gives every change its result. Only
 * `writeDirectly()` leaves out the changes that have no effect.
 */
export class RowWriter {
  /**
   * The keys of the rows with a change that is tried again later. Further changes of these rows in this
   * batch wait too, so that concurrent changes of a row are made in the order of their calls.
   */
  private readonly heldKeys = new Set<string>();
  /**
   * Whether triggers of a module may change rows, or end a transaction. Without any, a statement that
   * fails leaves nothing, and needs no savepoint. Undefined while nobody has looked.
   */
  hasTriggers: boolean | undefined;

  constructor(private readonly statements: RowStatements) {}

  get isHoldingRows(): boolean {
    return this.heldKeys.size > 0;
  }

  /** Has the changes of a row wait that follow one which is tried again. */
  hold(change: RowChange): void {
    if (!isAddition(change)) this.heldKeys.add(change.key);
  }

  async findTriggers(): Promise<boolean> {
    const { session, sql } = this.statements;
    const { columns, dialect } = sql;
    if (dialect.findTriggers === undefined) return true;
    if (this.hasTriggers === undefined) {
      const { tableName } = columns.metadata;
      const triggers = await session.query(dialect.findTriggers, [tableName]);
      this.hasTriggers = triggers.length > 0;
    }
    return this.hasTriggers;
  }

  /**
   * Executes direct writes of one kind, and sets the results of those that have an effect.
   *
   * @throws RowLeftOutError when an addition has none
   */
  async writeDirectly(
    kind: WriteKind,
    writes: readonly RowChange[],
    results: Results,
  ): Promise<void> {
    const { statements } = this;
    const values = writes.map((change) => change.values ?? []);
    const rows =
      kind === 'remove' ? await statements.remove(writes) : await statements.store(kind, values);
    if (kind === 'add') {
      // Of several additions nobody knows which one is left out.
      if (rows.length !== writes.length) throw statements.createLeftOutError();
      this.sortAdded(rows);
    }
    const rowsByKey = statements.sql.columns.mapByKey(rows);
    for (const [place, change] of writes.entries()) {
      const row = kind === 'add' ? rows[place] : rowsByKey.get(change.key);
      if (row !== undefined) results.set(change, change.direct?.getOutcome(row));
    }
  }

  /** Sorts added rows in the order of their additions, which is that of their numbers. */
  private sortAdded(rows: RawRow[]): void {
    const name = this.statements.sql.columns.counter?.databaseName ?? '';
    const getNumber = (row: RawRow): bigint => BigInt(String(row[name]));
    // An engine may return the rows in another order.
    rows.sort((one, other) => Number(getNumber(one) - getNumber(other)));
  }

  /** Writes the first change of each row, then the second one, and so on. */
  async writeRounds(changes: readonly RowChange[]): Promise<Results> {
    const rounds = splitIntoRounds(changes);
    const rows = rounds[0]?.length ?? 0;
    if (rounds.length > 1 && rows <= MAX_DECIDED && !this.statements.hasBinaryColumns) {
      const resultsInOrder = await this.writeInOrder(changes);
      if (resultsInOrder !== undefined) return resultsInOrder;
    }
    const results: Results = new Map();
    for (const round of rounds) await this.writeRound(round, results);
    return results;
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
    await decideRows(this.statements, round.filter(hasNoResult), results);
    for (const change of round) if (results.get(change) === RETRY) this.hold(change);
  }

  /**
   * Lets each change decide on the row that the one before it leaves, and stores all of these rows,
   * one after another, by one statement. Resolves with undefined if this is not possible, and nothing
   * is stored then.
   */
  private async writeInOrder(changes: readonly RowChange[]): Promise<Results | undefined> {
    // A trigger may change a row once it is stored, and the next change would not see that.
    if (await this.findTriggers()) return undefined;
    const { session, sql } = this.statements;
    const { columns } = sql;
    const current = await this.statements.lock(changes);
    // Rows with binary columns are not written in order.
    const hasSameBytes = true;
    const results: Results = new Map();
    const written: Values[] = [];
    let bytes = 0;
    for (const change of changes) {
      const row = current.get(change.key);
      if (isAddition(change) || row === RETRY) return undefined;
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
    if (written.length > 0) await session.query(sql.putInOrder(), sql.encodeRows(written));
    return results;
  }
}

/** Splits changes into rounds: the n-th round has the n-th change of each row. */
function splitIntoRounds(changes: readonly RowChange[]): RowChange[][] {
  const rounds: RowChange[][] = [];
  const counts = new Map<string, number>();
  for (const change of changes) {
    const count = counts.get(change.key) ?? 0;
    if (!isAddition(change)) counts.set(change.key, count + 1);
    (rounds[count] ??= []).push(change);
  }
  return rounds;
}

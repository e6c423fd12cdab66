import { countBytes, type Values } from '../entities/column-values.js';
import type { RawRow } from '../entities/entity-columns.js';
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
 * The ways of writing the changes of a batch: directly, without reading the rows; in order, all versions
 * of the rows by one statement; or in rounds, which change each row once. Each way throws the error of a
 * row that the engine refuses. If the `decide` of a change throws, this is the result of the change alone.
 */
export class RowWriter {
  /**
   * The keys of the rows with a change that is tried again later. Further changes of these rows in this
   * batch wait too, so that concurrent changes of a row are made in the order of their calls.
   */
  private readonly heldKeys = new Set<string>();
  /**
   * Whether triggers of a module may change rows, or end a transaction. Without any, a statement that
   * fails leaves nothing, and needs no savepoint. Unknown until {@link findTriggers} has looked, and on
   * an engine that cannot look.
   */
  private triggers: 'some' | 'none' | 'unknown' = 'unknown';

  constructor(private readonly statements: RowStatements) {}

  get isHoldingRows(): boolean {
    return this.heldKeys.size > 0;
  }

  get isKnownToHaveNoTriggers(): boolean {
    return this.triggers === 'none';
  }

  /** Makes later changes of the same row wait, since this change is tried again. */
  hold(change: RowChange): void {
    if (!isAddition(change)) this.heldKeys.add(change.key);
  }

  /** Looks for triggers, if the engine can, unless that is known already. */
  async findTriggers(): Promise<void> {
    const { session, sql } = this.statements;
    const { findTriggers } = sql.dialect;
    if (findTriggers === undefined || this.triggers !== 'unknown') return;
    const found = await session.query(findTriggers, [sql.columns.metadata.tableName]);
    this.triggers = found.length > 0 ? 'some' : 'none';
  }

  /** Writes all changes, of which several may be of one row, and gives each its result. */
  async write(changes: readonly RowChange[]): Promise<Results> {
    const rounds = splitIntoRounds(changes);
    const hasSeveralOfOneRow = rounds.length > 1;
    if (hasSeveralOfOneRow) {
      const resultsInOrder = await this.writeInOrder(changes);
      if (resultsInOrder !== undefined) return resultsInOrder;
    }
    const results: Results = new Map();
    for (const round of rounds) await this.writeRound(round, results);
    return results;
  }

  /**
   * Writes changes of the same rows by one statement, which stores every version of a row, one after
   * another. Resolves with undefined if this is not possible; then nothing is stored.
   */
  private async writeInOrder(changes: readonly RowChange[]): Promise<Results | undefined> {
    const { session, sql, hasBinaryColumns } = this.statements;
    // Bytes are compared by statements of their own.
    if (!sql.dialect.canPutInOrder || hasBinaryColumns) return undefined;
    await this.findTriggers();
    // A trigger may change a row once it is stored, and the next change would not see that.
    if (!this.isKnownToHaveNoTriggers) return undefined;
    const decided = await this.decideInOrder(changes);
    if (decided === undefined) return undefined;
    const { results, rows } = decided;
    if (rows.length > 0) await session.query(sql.putInOrder(), sql.encodeRows(rows));
    return results;
  }

  /**
   * Lets each change of a table without binary columns decide on the row as the changes before it
   * leave it. Resolves with undefined if one statement that inserts and updates cannot store all of
   * that. Each change then decides again.
   */
  private async decideInOrder(
    changes: readonly RowChange[],
  ): Promise<{ results: Results; rows: Values[] } | undefined> {
    const { columns } = this.statements.sql;
    const keys = new Set(changes.map(({ key }) => key));
    if (keys.size > MAX_DECIDED) return undefined;
    const current = await this.statements.lock(changes);
    const results: Results = new Map();
    const rows: Values[] = [];
    let bytes = 0;
    for (const change of changes) {
      const row = current.get(change.key);
      if (isAddition(change) || row === RETRY) return undefined;
      // Without binary columns, the bytes are the same.
      const write = decideAlone(change, row, true, results);
      const removesStoredRow = write === REMOVE && row !== undefined;
      if (removesStoredRow) return undefined;
      if (write === REMOVE || write === undefined) continue;
      const next = columns.makeRaw(write, row);
      current.set(change.key, next);
      const values = columns.all.map(({ databaseName }) => next[databaseName]);
      rows.push(values);
      bytes += countBytes(values);
      if (bytes > MAX_BATCH_BYTES) return undefined;
    }
    return { results, rows };
  }

  /** Writes changes of different rows. */
  private async writeRound(round: readonly RowChange[], results: Results): Promise<void> {
    const hasNoResult = (change: RowChange): boolean => !results.has(change);
    for (const change of round) {
      if (this.heldKeys.has(change.key)) results.set(change, RETRY);
    }
    for (const kind of KINDS) {
      const ofKind = round.filter(({ direct }) => direct?.kind === kind);
      const writes = ofKind.filter(hasNoResult);
      if (writes.length > 0) await this.writeDirectly(kind, writes, results);
    }
    // What is left: writes without an effect, and changes that depend on the stored row.
    await decideRows(this.statements, round.filter(hasNoResult), results);
    for (const change of round) {
      if (results.get(change) === RETRY) this.hold(change);
    }
  }

  /**
   * Executes direct writes of one kind by one statement, and sets the results of those that have an
   * effect. The others have no result after it.
   *
   * @throws RowLeftOutError when an addition has no effect
   */
  async writeDirectly(
    kind: WriteKind,
    writes: readonly RowChange[],
    results: Results,
  ): Promise<void> {
    if (kind === 'add') {
      await this.writeAdditions(writes, results);
      return;
    }
    const { statements } = this;
    const rows =
      kind === 'remove'
        ? await statements.remove(writes)
        : await statements.store(kind, writes.map(getValues));
    const rowsByKey = statements.sql.columns.mapByKey(rows);
    for (const change of writes) {
      const row = rowsByKey.get(change.key);
      if (row !== undefined) results.set(change, change.direct?.getOutcome(row));
    }
  }

  private async writeAdditions(additions: readonly RowChange[], results: Results): Promise<void> {
    const { statements } = this;
    const rows = await statements.store('add', additions.map(getValues));
    // The rows do not say which addition was left out.
    if (rows.length !== additions.length) throw statements.createLeftOutError();
    // The store has counted up the keys in the order of the additions. An engine may return the rows in
    // another order.
    const { columns } = statements.sql;
    const getNumber = (row: RawRow): bigint => BigInt(columns.makeKeyOfRaw(row));
    rows.sort((one, other) => Number(getNumber(one) - getNumber(other)));
    for (const [place, change] of additions.entries()) {
      const row = rows[place];
      if (row !== undefined) results.set(change, change.direct?.getOutcome(row));
    }
  }
}

function getValues({ values = [] }: RowChange): Values {
  return values;
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

import { ConstraintError } from '../constraint.error.js';
import type { BatchOperation } from './batch-queue.js';
import { countCharacters, type Values } from './entity-columns.js';
import { compare, type Comparison, findMissingParent, nameForeignKey } from './foreign-keys.js';
import {
  type FailureClassifier,
  isolateFailures,
  type Result,
  toFailure,
  unavailable,
} from './isolate-failures.js';
import { atomically, type Session } from './session.js';
import type { TableSql } from './table-sql.js';

/** What became of a new row: it is stored, or its key was taken by the same row or by another. */
export type CreateOutcome = 'created' | 'identical' | 'different';

/** A row to insert. */
export interface NewRow {
  readonly key: string;
  readonly values: Values;
}

/** Inserts lists of rows, each row as it would be inserted alone. */
export class InsertLists implements BatchOperation<readonly NewRow[], Result<CreateOutcome>[]> {
  readonly name = 'import';

  constructor(private readonly rows: InsertRows) {}

  measure(list: readonly NewRow[]): number {
    return list.reduce((sum, row) => sum + this.rows.measure(row), 0);
  }

  async execute(
    session: Session,
    lists: readonly (readonly NewRow[])[],
  ): Promise<Result<CreateOutcome>[][]> {
    const results: Result<CreateOutcome>[][] = [];
    for (const list of lists) results.push(await this.rows.execute(session, list));
    return results;
  }
}

/** Inserts rows. Of those with one key the first wins. */
export class InsertRows implements BatchOperation<NewRow, CreateOutcome> {
  readonly name = 'create';

  constructor(
    private readonly sql: TableSql,
    private readonly classifier: FailureClassifier,
  ) {}

  measure({ values }: NewRow): number {
    return countCharacters(values);
  }

  async execute(session: Session, rows: readonly NewRow[]): Promise<Result<CreateOutcome>[]> {
    try {
      return await this.insert(session, rows);
    } catch (error) {
      return await isolateFailures(
        session,
        rows,
        error,
        this.classifier,
        (within, part) => this.insert(within, part),
        (failure, within, { values }) => nameForeignKey(failure, within, this.sql, values),
      );
    }
  }

  private async insert(
    session: Session,
    rows: readonly NewRow[],
  ): Promise<Result<CreateOutcome>[]> {
    const first = new Map<string, NewRow>();
    for (const row of rows) if (!first.has(row.key)) first.set(row.key, row);
    const values = [...first.values()].map((row) => row.values);
    const { sql } = this;
    const created = sql.readKeys(await session.attempt(sql.insert, sql.encodeRows(values)));
    if (created.size === rows.length) return rows.map(() => 'created');

    const isCreated = (row: NewRow): boolean => first.get(row.key) === row && created.has(row.key);
    const others = rows.filter((row) => !isCreated(row));
    const reasons = await this.explain(session, others);
    return rows.map((row) => reasons.get(row) ?? 'created');
  }

  /** Why rows were not inserted. Rows already inserted stay inserted even if this query fails. */
  private async explain(
    session: Session,
    rows: readonly NewRow[],
  ): Promise<Map<NewRow, Result<CreateOutcome>>> {
    const reasons = new Map<NewRow, Result<CreateOutcome>>();
    try {
      const given = rows.map(({ values }) => values);
      const comparisons = await compare(session, this.sql, given);
      for (const [index, row] of rows.entries()) {
        const reason = this.readReason(comparisons[index]);
        reasons.set(row, reason ?? (await this.insertAlone(session, row)));
      }
    } catch (error) {
      if (session.isInTransaction) throw error;
      const failure = unavailable(error);
      for (const row of rows) if (!reasons.has(row)) reasons.set(row, failure);
    }
    return reasons;
  }

  private readReason(comparison: Comparison | undefined): Result<CreateOutcome> | undefined {
    if (comparison === undefined) return undefined;
    if (comparison.isStored) return comparison.isIdentical ? 'identical' : 'different';
    return findMissingParent(this.sql.columns, comparison);
  }

  /** Inserts a row that conflicts by something other than its key, which the engine names only in its error. */
  private async insertAlone(session: Session, { values }: NewRow): Promise<Result<CreateOutcome>> {
    const { sql, classifier } = this;
    try {
      await atomically(session, (within) => within.query(sql.insertAll, sql.encodeRows([values])));
      return 'created';
    } catch (error) {
      if (classifier.classify(error) === 'store') throw error;
      const failure = toFailure(error, classifier);
      const keys = sql.columns.keys.map(({ propertyPath }) => propertyPath);
      const isKeyTaken =
        failure instanceof ConstraintError &&
        failure.kind === 'unique' &&
        keys.every((key) => failure.properties.includes(key));
      // A row with this key was removed and inserted again meanwhile: whether it is the same is unknown.
      return isKeyTaken ? unavailable(error) : failure;
    }
  }
}

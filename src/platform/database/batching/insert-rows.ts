import { ConstraintError } from '../constraint.error.js';
import type { BatchOperation } from './batch-queue.js';
import { countCharacters, type Values } from './entity-columns.js';
import { compare, type Comparison, findMissingParent, nameForeignKey } from './compare-rows.js';
import {
  type FailureClassifier,
  executeIsolated,
  type Result,
  toFailure,
  unavailable,
} from './isolate-failures.js';
import { atomically, type Session } from './session.js';
import type { TableSql } from './sql-builder.js';

/**
 * The outcome for a new row: it is stored, or its key is taken by an identical or a different row.
 */
export type CreateOutcome = 'created' | 'identical' | 'different';

/** The outcome for a list of new rows. */
export interface ListOutcome {
  readonly created: number;
  readonly identical: number;
  /** The failures by the place of the row in the list: its key is taken, or it breaks a rule. */
  readonly failures: ReadonlyMap<number, 'different' | Error>;
}

/** A row to insert. */
export interface NewRow {
  readonly key: string;
  readonly values: Values;
}

/** Inserts rows. Of several rows with the same key, the first wins. */
export class InsertRows implements BatchOperation<NewRow, CreateOutcome> {
  readonly name = 'create';

  constructor(
    private readonly sql: TableSql,
    private readonly classifier: FailureClassifier,
  ) {}

  measure({ values }: NewRow): number {
    return countCharacters(values);
  }

  execute(session: Session, rows: readonly NewRow[]): Promise<Result<CreateOutcome>[]> {
    return executeIsolated(
      session,
      rows,
      this.classifier,
      (within, part) => this.insert(within, part),
      (failure, within, { values }) => nameForeignKey(failure, within, this.sql, values),
    );
  }

  private async insert(
    session: Session,
    rows: readonly NewRow[],
  ): Promise<Result<CreateOutcome>[]> {
    const first = new Map<string, NewRow>();
    for (const row of rows) if (!first.has(row.key)) first.set(row.key, row);
    const values = [...first.values()].map((row) => row.values);
    const { sql } = this;
    // Outside a transaction, this one statement is the commit, and the flush.
    const created = sql.readKeys(await session.attempt(sql.insert, sql.encodeRows(values)));
    if (created.size === rows.length) return rows.map(() => 'created');

    const isCreated = (row: NewRow): boolean => first.get(row.key) === row && created.has(row.key);
    const others = rows.filter((row) => !isCreated(row));
    const reasons = await this.explain(session, others);
    return rows.map((row) => reasons.get(row) ?? 'created');
  }

  /**
   * Finds out why rows were not inserted. Outside a transaction, rows already inserted stay inserted
   * even if this query fails. An inserted row counts as identical to itself.
   */
  async explain(
    session: Session,
    rows: readonly NewRow[],
  ): Promise<Map<NewRow, Result<CreateOutcome>>> {
    const reasons = new Map<NewRow, Result<CreateOutcome>>();
    try {
      const given = rows.map(({ values }) => values);
      const comparisons = await compare(session, this.sql, given);
      for (const [index, row] of rows.entries()) {
        const reason = this.readReason(comparisons[index]);
        if (reason !== undefined) reasons.set(row, reason);
      }
      const rest = rows.filter((row) => !reasons.has(row));
      const insertRest = (within: Session): Promise<Map<NewRow, Result<CreateOutcome>>> =>
        this.insertOneByOne(within, rest);
      const isAlone = rest.length <= 1 || session.isInTransaction;
      const results = await (isAlone ? insertRest(session) : atomically(session, insertRest));
      for (const [row, result] of results) reasons.set(row, result);
    } catch (error) {
      if (session.isInTransaction) throw error;
      const failure = unavailable(error);
      for (const row of rows) if (!reasons.has(row)) reasons.set(row, failure);
    }
    return reasons;
  }

  private async insertOneByOne(
    session: Session,
    rows: readonly NewRow[],
  ): Promise<Map<NewRow, Result<CreateOutcome>>> {
    const results = new Map<NewRow, Result<CreateOutcome>>();
    for (const row of rows) results.set(row, await this.insertAlone(session, row));
    return results;
  }

  private readReason(comparison: Comparison | undefined): Result<CreateOutcome> | undefined {
    if (comparison === undefined) return undefined;
    if (comparison.isStored) return comparison.isIdentical ? 'identical' : 'different';
    const { columns } = this.sql;
    // The parent may be a row of the same batch that is stored by now.
    const parent = columns.foreignKeys[comparison.missing ?? NaN]?.referencedEntityMetadata;
    return parent === columns.metadata ? undefined : findMissingParent(columns, comparison);
  }

  /**
   * Tries again to insert a row that conflicts by a column other than its key, since only the
   * engine's error names this column, or a row that refers to another row of its table.
   */
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
      // A row with this key was removed and inserted again meanwhile. Whether it is identical is
      // unknown.
      return isKeyTaken ? unavailable(error) : await nameForeignKey(failure, session, sql, values);
    }
  }
}

/** Inserts lists of rows, each row with the outcome that it would have alone. */
export class InsertLists implements BatchOperation<readonly Values[], ListOutcome> {
  readonly name = 'import';
  /** A commit of many rows would let other writers wait. */
  readonly maxCharacters = 64 * 1024;

  constructor(
    private readonly sql: TableSql,
    private readonly classifier: FailureClassifier,
    private readonly rows: InsertRows,
  ) {}

  measure(list: readonly Values[]): number {
    return list.reduce((sum, values) => sum + countCharacters(values), 0);
  }

  countRows({ created, identical, failures }: ListOutcome): [result: unknown, rows: number][] {
    const failed = [...failures.values()].map((failure): [unknown, number] => [failure, 1]);
    return [['created', created], ['identical', identical], ...failed];
  }

  async execute(
    session: Session,
    lists: readonly (readonly Values[])[],
  ): Promise<Result<ListOutcome>[]> {
    const insertAll = async (within: Session): Promise<ListOutcome[]> => {
      const outcomes: ListOutcome[] = [];
      for (const list of lists) outcomes.push(await this.insert(within, list));
      return outcomes;
    };
    return await (lists.length === 1 ? insertAll(session) : atomically(session, insertAll));
  }

  private async insert(session: Session, list: readonly Values[]): Promise<ListOutcome> {
    const { sql, rows, classifier } = this;
    try {
      if (sql.hasOneWriter) return await this.insertAndCompare(session, list);
      // Others must not change the inserted rows before they are compared.
      return await atomically(session, (within) => this.insertAndCompare(within, list));
    } catch (error) {
      if (classifier.classify(error) === 'store') throw error;
      return countOutcomes(await rows.execute(session, this.addKeys(list)));
    }
  }

  private async insertAndCompare(session: Session, list: readonly Values[]): Promise<ListOutcome> {
    const { sql } = this;
    const created = await session.run(sql.insertAndCount, sql.encodeRows(list));
    if (created === list.length) return { created, identical: 0, failures: new Map() };
    const rows = this.addKeys(list);
    const reasons = await this.rows.explain(session, rows);
    const outcome = countOutcomes(rows.map((row) => reasons.get(row) ?? 'created'));
    // The inserted rows were counted as identical to themselves.
    if (outcome.identical < created) throw new Error('The rows of a list cannot be compared');
    return {
      created: created + outcome.created,
      identical: outcome.identical - created,
      failures: outcome.failures,
    };
  }

  private addKeys(list: readonly Values[]): NewRow[] {
    return list.map((values) => ({ key: this.sql.columns.getKey(values), values }));
  }
}

function countOutcomes(results: readonly Result<CreateOutcome>[]): ListOutcome {
  const failures = new Map<number, 'different' | Error>();
  const counts = { created: 0, identical: 0 };
  for (const [place, result] of results.entries()) {
    if (result === 'created' || result === 'identical') counts[result]++;
    else failures.set(place, result);
  }
  return { ...counts, failures };
}

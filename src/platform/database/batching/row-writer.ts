import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import type { BulkStatements, BulkTable, Change, Comparison, Removal } from './bulk-table.js';
import { ConstraintError } from '../constraint.error.js';
import type { EntityColumns, Values } from './entity-columns.js';
import { storeFailures } from '../data-source/store-failures.js';

/** What became of a new row: it is stored, or its key was taken by the same row or by another. */
export type CreateOutcome = 'created' | 'identical' | 'different';

/** What became of a row to change: it was not there, or not as expected, unless it was done. */
export type ChangeOutcome = 'done' | 'missing' | 'changed';

/** A row to insert. */
export interface NewRow {
  readonly key: string;
  readonly values: Values;
}

type Result<Outcome> = Outcome | Error;

/** Into how many parts a batch that failed is divided to find the row at fault: with four the fewest are tried again. */
const PARTS = 4;

/** An operation on items, which resolves with the outcome of each, in their order. */
export type Step<Item, Outcome> = (
  statements: BulkStatements,
  items: readonly Item[],
) => Promise<Result<Outcome>[]>;

/** Writes the rows of one table in groups. One that the store refuses fails alone. */
export class RowWriter {
  constructor(
    private readonly table: BulkTable,
    private readonly columns: EntityColumns,
  ) {}

  /** Inserts rows. Of those with one key the first wins. */
  readonly create: Step<NewRow, CreateOutcome> = async (statements, rows) =>
    await this.narrow(statements, rows, this.insert, 'one');

  /** Writes rows in the place of others. */
  readonly replace: Step<Change, ChangeOutcome> = async (statements, changes) =>
    await this.narrow(statements, changes, (on, items) =>
      this.change(on, items, (within, some) => within.update(some)),
    );

  readonly remove: Step<Removal, ChangeOutcome> = async (statements, removals) =>
    await this.narrow(statements, removals, (on, items) =>
      this.change(on, items, (within, some) => within.remove(some)),
    );

  /**
   * Tries all at once; when one of them is at fault, finds it by trying parts, and parts of those, in
   * one transaction, so that the others cost one more commit in all.
   *
   * @param writes how many statements of the step write
   */
  private async narrow<Item extends object, Outcome>(
    statements: BulkStatements,
    items: readonly Item[],
    step: Step<Item, Outcome>,
    writes: 'one' | 'several' = 'several',
  ): Promise<Result<Outcome>[]> {
    const attempt = (): Promise<Result<Outcome>[]> => step(statements, items);
    const isUndone =
      statements.ownTransaction !== undefined || (writes === 'one' && statements.survivesErrors);
    try {
      return await (isUndone ? attempt() : statements.savepoint(attempt));
    } catch (error) {
      if (this.table.faultOf(error) === 'store') throw error;
      const [only] = items;
      if (only !== undefined && items.length === 1) {
        return [await this.nameForeignKey(this.failureOf(error), statements, only)];
      }
      const size = Math.ceil(items.length / PARTS);
      return await inTransaction(statements, async (within) => {
        const results: Result<Outcome>[] = [];
        for (let begin = 0; begin < items.length; begin += size) {
          const part = items.slice(begin, begin + size);
          results.push(...(await this.narrow(within, part, step, writes)));
        }
        return results;
      });
    }
  }

  private readonly insert: Step<NewRow, CreateOutcome> = async (statements, rows) => {
    const first = new Map<string, NewRow>();
    for (const row of rows) if (!first.has(row.key)) first.set(row.key, row);
    const created = await statements.insert([...first.values()].map(({ values }) => values));
    if (created.size === rows.length) return rows.map(() => 'created');

    const isCreated = (row: NewRow): boolean => first.get(row.key) === row && created.has(row.key);
    const others = rows.filter((row) => !isCreated(row));
    const reasons = await this.explain(statements, others);
    return rows.map((row) => reasons.get(row) ?? 'created');
  };

  /** Why rows were not inserted. What was inserted stays so, whatever comes of the question. */
  private async explain(
    statements: BulkStatements,
    rows: readonly NewRow[],
  ): Promise<Map<NewRow, Result<CreateOutcome>>> {
    const reasons = new Map<NewRow, Result<CreateOutcome>>();
    try {
      const comparisons = await statements.compare(rows.map(({ values }) => values));
      for (const [index, row] of rows.entries()) {
        const reason = this.reasonIn(comparisons[index]);
        reasons.set(row, reason ?? (await this.insertAlone(statements, row)));
      }
    } catch (error) {
      if (statements.ownTransaction === undefined) throw error;
      const failure = this.unavailable(error);
      for (const row of rows) if (!reasons.has(row)) reasons.set(row, failure);
    }
    return reasons;
  }

  private reasonIn(comparison: Comparison | undefined): Result<CreateOutcome> | undefined {
    if (comparison === undefined) return undefined;
    const { isStored, isIdentical } = comparison;
    if (isStored) return isIdentical ? 'identical' : 'different';
    return this.missingIn(comparison);
  }

  private missingIn(comparison: Comparison | undefined): ConstraintError | undefined {
    const foreignKey = this.columns.foreignKeys[comparison?.missing ?? NaN];
    if (foreignKey === undefined) return undefined;
    const properties = foreignKey.columns.map(({ propertyPath }) => propertyPath);
    return new ConstraintError('foreign key', properties, foreignKey.name);
  }

  /** Inserts a row that conflicts by something other than its key, which the engine names only in its error. */
  private async insertAlone(
    statements: BulkStatements,
    { values }: NewRow,
  ): Promise<Result<CreateOutcome>> {
    try {
      await inTransaction(statements, (within) =>
        within.savepoint(() => within.insertAll([values])),
      );
      return 'created';
    } catch (error) {
      if (this.table.faultOf(error) === 'store') throw error;
      const failure = this.failureOf(error);
      const isKeyTaken =
        failure instanceof ConstraintError &&
        failure.properties.includes(this.columns.key.propertyPath);
      // A row with this key was removed and inserted again meanwhile: whether it is the same is unknown.
      return isKeyTaken ? this.unavailable(error) : failure;
    }
  }

  /** Of the items with one key, each is of what the one before has left. */
  private async change<Item extends Removal>(
    statements: BulkStatements,
    items: readonly Item[],
    step: (statements: BulkStatements, items: readonly Item[]) => Promise<Set<string>>,
  ): Promise<Result<ChangeOutcome>[]> {
    const rounds = roundsOf(items);
    const done = new Set<Item>();
    const doAll = async (within: BulkStatements): Promise<void> => {
      for (const round of rounds) {
        const keys = await step(within, round);
        for (const item of round) if (keys.has(item.key)) done.add(item);
      }
    };
    await (rounds.length === 1 ? doAll(statements) : inTransaction(statements, doAll));
    const undone = items.filter((item) => !done.has(item));
    const stored = await this.storedOf(statements, undone);
    return items.map((item) => {
      if (done.has(item)) return 'done';
      if (stored instanceof Error) return stored;
      return stored.has(item.key) ? 'changed' : 'missing';
    });
  }

  /** Of the rows that were to be as expected, the keys of those that are there. */
  private async storedOf(
    statements: BulkStatements,
    items: readonly Removal[],
  ): Promise<Set<string> | Error> {
    const keys = items.filter(({ expected }) => expected !== null).map(({ key }) => key);
    if (keys.length === 0) return new Set();
    try {
      const rows = await statements.find(keys);
      const { databaseName } = this.columns.key;
      return new Set(rows.map((row) => this.columns.keyText(row[databaseName])));
    } catch (error) {
      if (statements.ownTransaction === undefined) throw error;
      return this.unavailable(error);
    }
  }

  /** Not every engine says which foreign key a row has violated. */
  private async nameForeignKey(
    failure: Error,
    statements: BulkStatements,
    item: object,
  ): Promise<Error> {
    if (!(failure instanceof ConstraintError) || failure.kind !== 'foreign key') return failure;
    if (!('values' in item)) {
      // Rows of other tables refer to the row that was to be removed.
      const { key } = this.columns;
      return new ConstraintError('foreign key', [key.propertyPath], failure.constraint, {
        cause: failure,
      });
    }
    if (failure.properties.length > 0) return failure;
    // That the row was refused is known already: a store that fails now leaves it without a name.
    const [comparison] = await statements.compare([item.values as Values]).catch(() => []);
    return this.missingIn(comparison) ?? failure;
  }

  private failureOf(error: unknown): Error {
    const constraint = this.table.constraintOf(error);
    if (constraint !== undefined) return constraint;
    return this.table.faultOf(error) === 'row' ? (error as Error) : this.unavailable(error);
  }

  private unavailable(error: unknown): ApiError {
    storeFailures.report(error as Error);
    return new ApiError(ErrorCatalogue.UNAVAILABLE);
  }
}

/** Does work in the transaction that the statements are part of, or in one of its own. */
async function inTransaction<Result>(
  statements: BulkStatements,
  work: (within: BulkStatements) => Promise<Result>,
): Promise<Result> {
  return await (statements.ownTransaction?.(work) ?? work(statements));
}

/** The items in as few groups as have no key twice, in their order. */
function roundsOf<Item extends { readonly key: string }>(items: readonly Item[]): Item[][] {
  const rounds: Item[][] = [];
  const counts = new Map<string, number>();
  for (const item of items) {
    const round = counts.get(item.key) ?? 0;
    counts.set(item.key, round + 1);
    (rounds[round] ??= []).push(item);
  }
  return rounds;
}

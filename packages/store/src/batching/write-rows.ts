import type { EntityMetadata } from 'typeorm';
import type { DriverErrors, Session } from '../engine/engine.js';
import { TransactionLostError } from '../engine/sessions.js';
import { countBytes } from '../entities/column-values.js';
import { ConstraintError } from '../errors/constraint.error.js';
import { StoreUnavailableError } from '../errors/store.errors.js';
import { type BatchOperation, Refusal, type Result, RETRY } from './batch-queue.js';
import { isAddition, type Results, type RowChange, type WriteKind } from './row-changes.js';
import { RowStatements } from './row-statements.js';
import { RowWriter } from './row-writer.js';
import type { TableSql } from './sql-builder.js';
import { Violations } from './violations.js';

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
  const violations = new Violations(sql, errors, entities);
  return {
    name: 'write',
    measure: ({ values = [] }) => countBytes(values),
    getKey: (change) => (isAddition(change) ? undefined : change.key),
    getName: ({ operation }) => operation,
    execute: (session, changes) =>
      new Batch(new RowStatements(session, sql, violations)).storeAll(changes),
  };
}

/**
 * A batch while it is stored: finds the changes that are refused among the others. In the end every
 * change has a result, and a refused one was tried alone.
 */
class Batch {
  private readonly session: Session;
  private readonly writer: RowWriter;

  constructor(private readonly statements: RowStatements) {
    this.session = statements.session;
    this.writer = new RowWriter(statements);
  }

  async storeAll(changes: readonly RowChange[]): Promise<Result<unknown>[]> {
    const results = await this.storeTogether(changes);
    if (results !== undefined) return results;
    try {
      return await this.session.transaction(async () => {
        const { shortenWaits } = this.statements.sql.dialect.locks ?? {};
        if (shortenWaits !== undefined) await this.session.query(shortenWaits, []);
        await this.writer.findTriggers();
        return await this.storeHalves(changes);
      });
    } catch (error) {
      if (this.statements.violations.findCause(error) === 'store') throw error;
      // A constraint is violated that is checked at the commit, or a trigger has ended the
      // transaction. So the halves cannot share a commit.
      const [first, second] = halve(changes);
      const firstResults = await this.storeAll(first);
      return [...firstResults, ...(await this.storeAll(second))];
    }
  }

  /** Stores all changes but those that fail. */
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
    const { violations } = this.statements;
    try {
      const kind = this.findKind(changes);
      if (kind !== undefined && this.isWhole(kind, changes)) {
        return await this.writeOneStatement(kind, changes);
      }
      return await this.session.transaction(async () =>
        listResults(changes, await this.writer.write(changes)),
      );
    } catch (error) {
      const cause = violations.findCause(error);
      if (cause === 'store' || error instanceof TransactionLostError) throw error;
      const [only] = changes;
      if (only === undefined || changes.length > 1) return undefined;
      if (cause === 'lock') {
        this.writer.hold(only);
        return [RETRY];
      }
      if (error instanceof ConstraintError) return [new Refusal(error)];
      // Statements have named their errors, and at a commit only a removal violates a foreign key.
      return [new Refusal(violations.toRemovalError(error))];
    }
  }

  /** The kind of all changes, if they are first tried by one statement. */
  private findKind(changes: readonly RowChange[]): WriteKind | undefined {
    // Only rounds leave out the rows that are held.
    if (this.writer.isHoldingRows) return undefined;
    const kind = changes[0]?.direct?.kind;
    if (!changes.every(({ direct }) => direct?.kind === kind)) return undefined;
    if (changes.length === 1) return kind;
    // Each row is a statement of its own.
    if (this.statements.hasBinaryColumns) return undefined;
    // Each addition is a row of its own.
    if (kind === 'add') return kind;
    const rows = new Set(changes.map(({ key }) => key));
    return rows.size === changes.length ? kind : undefined;
  }

  /** Whether one statement for changes stores all of them or none, without a transaction around it. */
  private isWhole(kind: WriteKind, changes: readonly RowChange[]): boolean {
    if (this.writer.isKnownToHaveNoTriggers) return true;
    // A trigger may leave rows out. Of several additions nobody knows which, and all are undone.
    const isKnownWhichAreWritten = kind !== 'add' || changes.length === 1;
    return isKnownWhichAreWritten && !this.session.isInTransaction;
  }

  /** Executes direct writes by one statement, and lets those decide that had no effect. */
  private async writeOneStatement(
    kind: WriteKind,
    changes: readonly RowChange[],
  ): Promise<Result<unknown>[]> {
    const results: Results = new Map();
    await this.writer.writeDirectly(kind, changes, results);
    const rest = changes.filter((change) => !results.has(change));
    if (rest.length > 0) {
      const deciding = rest.map((change) => ({ ...change, direct: undefined }));
      const decided = await this.storeAll(deciding);
      for (const [place, change] of rest.entries()) results.set(change, decided[place]);
    }
    return listResults(changes, results);
  }
}

function halve<Item>(items: readonly Item[]): [Item[], Item[]] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

/** @throws StoreUnavailableError when a change has no result: nobody knows whether it is stored */
function listResults(changes: readonly RowChange[], results: Results): Result<unknown>[] {
  return changes.map((change) => {
    const result = results.get(change);
    if (result !== undefined || results.has(change)) return result;
    throw new StoreUnavailableError(new Error('A change of a row has no result'));
  });
}

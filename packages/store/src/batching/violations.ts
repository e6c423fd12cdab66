import type { EntityMetadata } from 'typeorm';
import type { DriverErrors, FailureCause, Session } from '../engine/engine.js';
import type { Values } from '../entities/column-values.js';
import { ConstraintError } from '../errors/constraint.error.js';
import { StoreUnavailableError } from '../errors/store.errors.js';
import type { TableSql } from './sql-builder.js';

/** A trigger has kept a row from being written, without an error of the engine. */
export class RowLeftOutError extends Error {
  constructor(table: string) {
    super(`A trigger of ${table} has left the row out: nothing is stored`);
  }
}

/**
 * Finds the constraint that a failed statement violates. An error that is not a violation stays as it
 * is.
 */
export class Violations {
  constructor(
    private readonly sql: TableSql,
    private readonly errors: DriverErrors,
    private readonly entities: readonly EntityMetadata[],
  ) {}

  findCause(error: unknown): FailureCause {
    if (error instanceof ConstraintError || error instanceof RowLeftOutError) return 'row';
    return error instanceof StoreUnavailableError ? 'store' : this.errors.findCause(error);
  }

  /** Converts the error of a removal, so that it names the constraint that is violated. */
  toRemovalError(error: unknown): unknown {
    return this.toConstraintError(error, true) ?? error;
  }

  /**
   * Converts the error of a row to store, so that it names the constraint that is violated. Not every
   * engine says which foreign key it is.
   */
  async toRowError(session: Session, error: unknown, row: Values): Promise<unknown> {
    const { sql } = this;
    const failure = this.toConstraintError(error, false);
    if (failure?.kind !== 'foreign key' || failure.properties.length > 0) return failure ?? error;
    const parameters = sql.encodeRows([row], []);
    const [found] = await session.query<{ missing: number | null }>(sql.missingParent, parameters);
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

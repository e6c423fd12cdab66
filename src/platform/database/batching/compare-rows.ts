import { ConstraintError } from '../constraint.error.js';
import type { EntityColumns, Values } from './entity-columns.js';
import type { Session } from './session.js';
import type { TableSql } from './sql-builder.js';

/** How a row that was not inserted compares with the stored rows. */
export interface Comparison {
  readonly isStored: boolean | number;
  readonly isIdentical: boolean | number;
  /** The index of the foreign key that refers to a missing row. */
  readonly missing: number | null;
}

/** Compares rows with the stored rows, in their order. */
export function compare(
  session: Session,
  sql: TableSql,
  rows: readonly Values[],
): Promise<Comparison[]> {
  return session.query<Comparison>(sql.compare, sql.encodeRows(rows));
}

export function findMissingParent(
  { foreignKeys, metadata }: EntityColumns,
  comparison: Comparison | undefined,
): ConstraintError | undefined {
  const foreignKey = foreignKeys[comparison?.missing ?? NaN];
  if (foreignKey === undefined) return undefined;
  const properties = foreignKey.columns.map(({ propertyPath }) => propertyPath);
  return new ConstraintError('foreign key', metadata.tableName, properties, foreignKey.name);
}

/**
 * Adds to an error which foreign key a row violates, since not every engine reports that.
 *
 * @param values the row to write; empty for a removal, which fails if rows of other tables refer to
 *   the row
 */
export async function nameForeignKey(
  failure: Error,
  session: Session,
  sql: TableSql,
  values: Values = [],
): Promise<Error> {
  if (!(failure instanceof ConstraintError)) return failure;
  if (failure.kind !== 'foreign key') return failure;
  const { columns } = sql;
  if (values.length === 0) {
    const keys = columns.keys.map(({ propertyPath }) => propertyPath);
    const { tableName } = columns.metadata;
    return new ConstraintError('referenced', tableName, keys, failure.constraint, {
      cause: failure,
    });
  }
  if (failure.properties.length > 0) return failure;
  // The row was refused already. If this query fails, the error just names no foreign key.
  const [comparison] = await compare(session, sql, [values]).catch(() => []);
  return findMissingParent(columns, comparison) ?? failure;
}

import { ConstraintError } from '../constraint.error.js';
import type { EntityColumns, Values } from './entity-columns.js';
import type { Session } from './session.js';
import type { TableSql } from './sql-builder.js';

/** How a row that was not inserted compares with what is stored. */
export interface Comparison {
  readonly isStored: boolean | number;
  readonly isIdentical: boolean | number;
  /** The index of the foreign key that refers to a row that is not there. */
  readonly missing: number | null;
}

/** Compares rows with what is stored, in their order. */
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
 * Says which foreign key a row violates, which not every engine does.
 *
 * @param values the row that was to be written; none for one that was to be removed, to which rows
 *   of other tables refer
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
  // That the row was refused is known already: a store that fails now leaves it without a name.
  const [comparison] = await compare(session, sql, [values]).catch(() => []);
  return findMissingParent(columns, comparison) ?? failure;
}

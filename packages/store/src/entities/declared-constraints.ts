import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { ConstraintKind } from '../errors/constraint.error.js';

/**
 * A constraint that an entity declares. Of a check and of an expression, no engine names columns,
 * so `properties` is empty.
 *
 * @example
 * ```ts
 * const constraint: DeclaredConstraint = {
 *   kind: 'unique',
 *   constraint: 'beds_name',
 *   properties: ['name'],
 * };
 * ```
 */
export interface DeclaredConstraint {
  readonly kind: ConstraintKind;
  readonly constraint: string;
  readonly properties: readonly string[];
}

/**
 * Lists the constraints of an entity that have a name.
 *
 * @example
 * ```ts
 * const names = listDeclared(store.getMetadata(Plant)).map(({ constraint }) => constraint);
 * ```
 */
export function listDeclared({
  uniques,
  indices,
  checks,
  exclusions,
  foreignKeys,
}: EntityMetadata): DeclaredConstraint[] {
  // TypeORM does not know whether an index is unique that only a migration makes.
  const uniqueIndices = indices.filter(({ isUnique, synchronize }) => isUnique || !synchronize);
  return [
    ...[...uniques, ...uniqueIndices].map(({ name, columns }) => ({
      kind: 'unique' as const,
      constraint: name,
      properties: listProperties(columns),
    })),
    ...foreignKeys.map(({ name, columns }) => ({
      kind: 'foreign key' as const,
      constraint: name,
      properties: listProperties(columns),
    })),
    ...checks.map(({ name }) => ({ kind: 'check' as const, constraint: name, properties: [] })),
    ...exclusions.map(({ name }) => ({
      kind: 'exclusion' as const,
      constraint: name,
      properties: [],
    })),
  ];
}

function listProperties(columns: readonly ColumnMetadata[]): string[] {
  return columns.map(({ propertyPath }) => propertyPath);
}

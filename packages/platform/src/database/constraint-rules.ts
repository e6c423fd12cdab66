import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import {
  type ConstraintAnswer,
  type ConstraintKind,
  type ConstraintRule,
  hasSameItems,
} from './constraint.error.js';

/** A constraint that an entity declares. Of a check and of an expression, no engine names columns. */
interface Declared {
  readonly kind: ConstraintKind;
  readonly constraint: string;
  readonly properties: readonly string[];
}

/**
 * Reads the errors that a module has declared for violated constraints of an entity.
 *
 * @throws TypeError for one that would never be answered, or that not every engine could tell from
 *   another
 */
export function readConstraintAnswers(
  entity: EntityMetadata,
  answers: readonly ConstraintAnswer[],
): ConstraintRule[] {
  const declared = listDeclared(entity);
  const rules: ConstraintRule[] = [];
  for (const answer of answers) {
    const rule = { ...findConstraint(entity, declared, answer), error: answer.error };
    if (rules.some((other) => isSame(rule, other))) {
      throw new TypeError(`@ConstraintErrors() names ${describe(rule)} of ${entity.name} twice`);
    }
    assertDistinct(entity, declared, rule);
    rules.push(rule);
  }
  return rules;
}

function findConstraint(
  { name }: EntityMetadata,
  declared: readonly Declared[],
  answer: ConstraintAnswer,
): Omit<ConstraintRule, 'error'> {
  if ('constraint' in answer) {
    const found = declared.find(({ constraint }) => constraint === answer.constraint);
    if (found !== undefined) return found;
    throw new TypeError(
      `${name} declares no constraint ${answer.constraint}: declare it at the entity, or name it by its kind and properties`,
    );
  }
  if (answer.kind === 'referenced') {
    return { kind: answer.kind, constraint: undefined, properties: [] };
  }
  const { kind, properties } = answer;
  const rule = { kind, constraint: undefined, properties };
  const isDeclared = declared.some((one) => isSame(one, rule));
  if (kind === 'foreign key' && !isDeclared) {
    throw new TypeError(`${name} declares no ${describe(rule)}: write @ForeignKey() at the entity`);
  }
  return rule;
}

/** @throws TypeError if an engine would report the constraint as it reports another one */
function assertDistinct(
  { name }: EntityMetadata,
  declared: readonly Declared[],
  rule: ConstraintRule,
): void {
  const alike = declared.filter((one) => isSame(one, rule)).map(({ constraint }) => constraint);
  if (alike.length < 2) return;
  throw new TypeError(
    `${name} has ${alike.join(' and ')}, which are each a ${describe(rule)}: not every engine says which one a row violates, so keep one`,
  );
}

type Constraint = Omit<ConstraintRule, 'error'>;

function isSame(one: Constraint, other: Constraint): boolean {
  if (one.kind !== other.kind) return false;
  const isUnnamed = one.properties.length === 0 && other.properties.length === 0;
  if (isUnnamed) return one.constraint === other.constraint;
  return hasSameItems(one.properties, other.properties);
}

function describe({ kind, constraint, properties }: Constraint): string {
  const subject = properties.length > 0 ? properties.join(', ') : constraint;
  return subject === undefined ? kind : `${kind} constraint (${subject})`;
}

/** Lists the constraints of an entity that have a name. */
export function listDeclared({
  uniques,
  indices,
  checks,
  exclusions,
  foreignKeys,
}: EntityMetadata): Declared[] {
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

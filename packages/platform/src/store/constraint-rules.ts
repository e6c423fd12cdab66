import type { EntityMetadata } from 'typeorm';
import {
  type ConstraintError,
  type ConstraintKind,
  type DeclaredConstraint as Declared,
  hasSameItems,
  listDeclared,
} from 'durable-store';
import type { ErrorKind } from '../errors/error-catalogue.js';

/** The error for a violated constraint, which is named by its name, or by its kind and properties. */
export type ConstraintAnswer<Property extends string = string> = {
  readonly error: ErrorKind;
} & (
  | { readonly constraint: string }
  | { readonly kind: 'unique' | 'foreign key' | 'not null'; readonly properties: Property[] }
  | { readonly kind: 'referenced' }
);

/** The error for a constraint, by all that an engine may report of it. */
export interface ConstraintRule {
  readonly kind: ConstraintKind;
  readonly constraint: string | undefined;
  readonly properties: readonly string[];
  readonly error: ErrorKind;
}

/** The errors that modules have declared, by the entity of a store. */
const rulesByEntity = new WeakMap<EntityMetadata, readonly ConstraintRule[]>();

/** Sets the errors for violated constraints of an entity, for all writes to its table. */
export function setConstraintRules(entity: EntityMetadata, rules: readonly ConstraintRule[]): void {
  rulesByEntity.set(entity, rules);
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

/** Finds the error that a module has declared for a violated constraint. */
export function findConstraintAnswer({
  entity,
  kind,
  constraint,
  properties,
}: ConstraintError): ErrorKind | undefined {
  const rules = (entity && rulesByEntity.get(entity)) ?? [];
  const found = rules.find((rule) => {
    if (rule.kind !== kind) return false;
    if (kind === 'referenced') return true;
    if (rule.constraint !== undefined && rule.constraint === constraint) return true;
    return rule.properties.length > 0 && hasSameItems(rule.properties, properties);
  });
  return found?.error;
}

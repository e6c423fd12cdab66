import { type EntityMetadata, QueryFailedError } from 'typeorm';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorKind } from '../errors/error-catalogue.js';

/**
 * The kind of a constraint that a row violates. `foreign key`: it refers to a missing row.
 * `referenced`: it cannot be removed, since other rows refer to it. Not every engine has
 * the constraints of the kind `exclusion`.
 */
export type ConstraintKind =
  'unique' | 'exclusion' | 'foreign key' | 'referenced' | 'check' | 'not null';

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

/** What is known about a violated constraint. */
interface Violation extends ErrorOptions {
  readonly kind: ConstraintKind;
  /** The table of the row, if known. */
  readonly table: string | undefined;
  /** The properties that the constraint is about, if the engine reports them. */
  readonly properties?: readonly string[];
  /** The name of the constraint, if the engine reports it. */
  readonly constraint?: string | undefined;
  /** The entity of the table, if known. */
  readonly entity?: EntityMetadata | undefined;
}

/** The messages for violated constraints for which no module has named an error. */
const MESSAGES: Readonly<Partial<Record<ConstraintKind, string>>> = {
  'foreign key': 'The request refers to something that does not exist',
  referenced: 'Another row refers to this one',
  unique: 'A value that must be unique is already in use',
  exclusion: 'A value conflicts with that of another row',
  check: 'A value breaks a rule of the store',
};

/** The members of a driver's error that hold no text of a row, unlike `detail` and `where`. */
const SAFE_MEMBERS = ['code', 'errno', 'severity', 'schema', 'table', 'column', 'constraint'];

/**
 * The database refused a row because of a constraint. A request is then answered with the error
 * that its module has named, or with 40999; `not null` with 50000, unless the body has a null that
 * `@IsOptional()` let through.
 *
 * `kind` is the same on every engine. `code` and `driverError` are those of the driver, if it has
 * reported an error. No member holds a row: a batch has the rows of many clients.
 */
export class ConstraintError extends QueryFailedError {
  declare readonly code?: string;
  readonly kind: ConstraintKind;
  /** The table of the row, if known. */
  readonly table: string | undefined;
  /** The properties that the constraint is about, if the engine reports them. */
  readonly properties: readonly string[];
  /** The name of the constraint, if the engine reports it. */
  readonly constraint: string | undefined;
  readonly #original: unknown;
  readonly #entity: EntityMetadata | undefined;

  constructor({ kind, table, properties = [], constraint, entity, cause }: Violation) {
    const original: unknown = cause instanceof ConstraintError ? cause.original : cause;
    const message = `A row breaks a ${kind} constraint (${constraint ?? properties.join(', ')})`;
    super('', [], withoutRow(original, message));
    this.kind = kind;
    this.table = table;
    this.properties = properties;
    this.constraint = constraint;
    this.#original = original;
    this.#entity = entity;
    this.message = message;
    // The stack begins with the message.
    Error.captureStackTrace(this, ConstraintError);
  }

  /** The error as the driver has made it, perhaps with the row; undefined if there was none. */
  get original(): unknown {
    return this.#original;
  }

  /** Makes the error that a client gets. */
  toApiError(): ApiError {
    const rules = (this.#entity && rulesByEntity.get(this.#entity)) ?? [];
    const declared = rules.find((rule) => this.breaks(rule));
    if (declared !== undefined) return new ApiError(declared.error);
    const message = MESSAGES[this.kind];
    return message === undefined
      ? new ApiError(ErrorCatalogue.INTERNAL)
      : new ApiError(ErrorCatalogue.CONFLICT, message);
  }

  private breaks({ kind, constraint, properties }: ConstraintRule): boolean {
    if (kind !== this.kind) return false;
    if (kind === 'referenced') return true;
    if (constraint !== undefined && constraint === this.constraint) return true;
    return properties.length > 0 && hasSameItems(properties, this.properties);
  }
}

/** Makes an error that is like that of a driver, but holds no row. */
function withoutRow(original: unknown, message: string): Error {
  if (!(original instanceof Error)) return new Error(message);
  const members = Object.entries(original).filter(([name]) => SAFE_MEMBERS.includes(name));
  return Object.assign(new Error(original.message), Object.fromEntries(members));
}

/** Whether two lists have the same items, in any order. No list has an item twice. */
export function hasSameItems(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item) => other.includes(item));
}

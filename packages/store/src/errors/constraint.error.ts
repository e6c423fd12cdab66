import { type EntityMetadata, QueryFailedError } from 'typeorm';

/**
 * The kind of a constraint that a row violates. `foreign key`: it refers to a missing row.
 * `referenced`: it cannot be removed, since other rows refer to it. Not every engine has the
 * constraints of the kind `exclusion`.
 *
 * @example
 * ```ts
 * const sentences: Partial<Record<ConstraintKind, string>> = {
 *   'foreign key': 'The request refers to something that does not exist',
 *   referenced: 'Another row refers to this one',
 * };
 * ```
 */
export type ConstraintKind =
  'unique' | 'exclusion' | 'foreign key' | 'referenced' | 'check' | 'not null';

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

/** The members of a driver's error that hold no text of a row, unlike `detail` and `where`. */
const SAFE_MEMBERS = ['code', 'errno', 'severity', 'schema', 'table', 'column', 'constraint'];

/**
 * The database refused a row because of a constraint. Change the row, or the rows that it refers
 * to.
 *
 * `kind` is the same on every engine. `code` and `driverError` come from the driver, if it has
 * reported an error. No member holds a row: a batch has the rows of many clients.
 *
 * @example
 * ```ts
 * try {
 *   await plants.create({ id: 1n, name: 'Monstera' });
 * } catch (error) {
 *   if (error instanceof ConstraintError && error.kind === 'unique') console.log(error.properties);
 *   else throw error;
 * }
 * ```
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

  /** The entity of the table, if known. */
  get entity(): EntityMetadata | undefined {
    return this.#entity;
  }
}

/** Makes a copy of a driver's error that holds no row. */
function withoutRow(original: unknown, message: string): Error {
  if (!(original instanceof Error)) return new Error(message);
  const members = Object.entries(original).filter(([name]) => SAFE_MEMBERS.includes(name));
  return Object.assign(new Error(original.message), Object.fromEntries(members));
}

/**
 * Whether two lists have the same items, in any order. No list has an item twice.
 *
 * @example
 * ```ts
 * hasSameItems(['gardenId', 'varietyId'], ['varietyId', 'gardenId']); // true
 * ```
 */
export function hasSameItems(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item) => other.includes(item));
}

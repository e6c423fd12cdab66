import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorKind } from '../errors/error-catalogue.js';

/**
 * The kind of a constraint that a row violates. `foreign key`: it refers to a missing row.
 * `referenced`: it cannot be removed, since other rows refer to it.
 */
export type ConstraintKind = 'unique' | 'foreign key' | 'referenced' | 'check' | 'not null';

/** The errors for violated constraints of a table. */
export interface Violations<Property extends string = string> {
  /** The errors for violated constraints, by the properties of foreign keys and unique columns. */
  readonly violations?: Readonly<Partial<Record<Property, ErrorKind>>>;
  /** The error for a row that cannot be removed, since rows of other tables refer to it. */
  readonly referenced?: ErrorKind;
}

/** The errors that modules have named, by table. */
const namedViolations = new Map<string, Violations>();

/** Names the errors for violated constraints of a table, for all writes to the table. */
export function nameViolations(table: string, named: Violations): void {
  if (named.violations ?? named.referenced) namedViolations.set(table, named);
}

/** The messages for violated constraints for which no module has named an error. */
const MESSAGES: Readonly<Partial<Record<ConstraintKind, string>>> = {
  'foreign key': 'The request refers to something that does not exist',
  referenced: 'Another row refers to this one',
  unique: 'A value that must be unique is already in use',
  check: 'A value breaks a rule of the store',
};

/**
 * The database refused a row because of a constraint. A request is then answered with the error
 * that its module has named, or with 40999; `not null` with 50000, since DTOs check that.
 */
export class ConstraintError extends Error {
  constructor(
    readonly kind: ConstraintKind,
    /** The table of the row, if known. */
    readonly table: string | undefined,
    /** The properties that the constraint is about, if the engine reports them. */
    readonly properties: readonly string[],
    /** The name of the constraint, if the engine reports it. */
    readonly constraint?: string,
    options?: ErrorOptions,
  ) {
    super(`A row breaks a ${kind} constraint (${constraint ?? properties.join(', ')})`, options);
  }

  /** Makes the error that a client gets. */
  toApiError(): ApiError {
    const { violations, referenced } = namedViolations.get(this.table ?? '') ?? {};
    const named =
      this.kind === 'referenced'
        ? referenced
        : this.properties.map((property) => violations?.[property]).find(Boolean);
    if (named !== undefined) return new ApiError(named);
    const message = MESSAGES[this.kind];
    return message === undefined
      ? new ApiError(ErrorCatalogue.INTERNAL)
      : new ApiError(ErrorCatalogue.CONFLICT, message);
  }
}

import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorKind } from '../errors/error-catalogue.js';

/**
 * Which kind of rule of a table a row would break. `foreign key`: it refers to a row that is not
 * there. `referenced`: rows of other tables refer to it.
 */
export type ConstraintKind = 'unique' | 'foreign key' | 'referenced' | 'check' | 'not null';

/** The errors that violated constraints of a table are answered with. */
export interface Violations {
  /** By the properties that constraints are about: foreign keys and unique columns. */
  readonly byProperty: Readonly<Partial<Record<string, ErrorKind>>>;
  /** For a row that cannot be removed, since rows of other tables refer to it. */
  readonly referenced: ErrorKind | undefined;
}

/** What features have named, by table. */
const namedViolations = new Map<string, Violations>();

/** Names the errors that violated constraints of a table are answered with, whoever writes. */
export function nameViolations(table: string, violations: Violations): void {
  namedViolations.set(table, violations);
}

const NONE: Violations = { byProperty: {}, referenced: undefined };

/** What a client may know of a constraint for which a feature has named no error. */
const MESSAGES: Readonly<Partial<Record<ConstraintKind, string>>> = {
  'foreign key': 'The request refers to something that does not exist',
  referenced: 'Another row refers to this one',
  unique: 'A value that must be unique is already in use',
  check: 'A value breaks a rule of the store',
};

/**
 * The store refused a row because of a constraint of its table. A request is answered with the error
 * that the feature has named for it, or with 40999.
 */
export class ConstraintError extends Error {
  constructor(
    readonly kind: ConstraintKind,
    /** The table of the row, where it is known. */
    readonly table: string | undefined,
    /** The properties of the entity that the constraint is about, where the engine says so. */
    readonly properties: readonly string[],
    /** The name of the constraint, where the engine says so. */
    readonly constraint?: string,
    options?: ErrorOptions,
  ) {
    super(`A row breaks a ${kind} constraint (${constraint ?? properties.join(', ')})`, options);
  }

  /** The error that a client gets. */
  toApiError(): ApiError {
    const { byProperty, referenced } = namedViolations.get(this.table ?? '') ?? NONE;
    const named =
      this.kind === 'referenced'
        ? referenced
        : this.properties.map((property) => byProperty[property]).find(Boolean);
    if (named !== undefined) return new ApiError(named);
    const message = MESSAGES[this.kind];
    return message === undefined
      ? new ApiError(ErrorCatalogue.INTERNAL)
      : new ApiError(ErrorCatalogue.CONFLICT, message);
  }
}

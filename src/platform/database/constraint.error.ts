/** Which kind of rule of the table a row would break. */
export type ConstraintKind = 'unique' | 'foreign key' | 'check' | 'not null';

/**
 * The store refused a row because of a constraint of its table. Catch it to answer with an error of
 * the feature's own.
 */
export class ConstraintError extends Error {
  constructor(
    readonly kind: ConstraintKind,
    /** The properties of the entity that it is about, where the engine says so. */
    readonly properties: readonly string[],
    /** The name of the constraint, where the engine says so. */
    readonly constraint?: string,
    options?: ErrorOptions,
  ) {
    super(`A row breaks a ${kind} constraint (${constraint ?? properties.join(', ')})`, options);
  }
}

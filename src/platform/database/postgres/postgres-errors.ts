import { ConstraintError, type ConstraintKind } from '../constraint.error.js';
import type { EntityColumns } from '../batching/entity-columns.js';
import { codeOf } from '../data-source/error-code.js';

/** The classes of SQLSTATE with which PostgreSQL refuses a row itself: bad data, constraints, limits. */
const ROW_ERRORS = ['22', '23', '54'];

/** The classes that say that the statement is at fault: not implemented, transaction state, syntax and access. */
const STATEMENT_ERRORS = [...ROW_ERRORS, '0A', '21', '25', '2B', '3B', '42', '44', 'P0'];

const READ_ONLY = '25006';
const LOCK_NOT_AVAILABLE = '55P03';

const KINDS: Record<string, ConstraintKind> = {
  '23502': 'not null',
  '23503': 'foreign key',
  '23505': 'unique',
  '23514': 'check',
};

interface ServerError {
  readonly constraint?: string;
  readonly column?: string;
  readonly detail?: string;
}

export function isRowError(error: unknown): boolean {
  return isOf(ROW_ERRORS, error);
}

/** Whether another session holds a lock, on a row or on the key of one that it has not committed. */
export function isLocked(error: unknown): boolean {
  return codeOf(error) === LOCK_NOT_AVAILABLE;
}

/** Whether the store failed, and not what it was asked to do. */
export function isStoreFailure(error: unknown): boolean {
  return codeOf(error) === READ_ONLY || !isOf(STATEMENT_ERRORS, error);
}

function isOf(classes: readonly string[], error: unknown): boolean {
  const code = codeOf(error);
  return code.length === 5 && classes.includes(code.slice(0, 2));
}

export function constraintOf(
  error: unknown,
  { metadata }: EntityColumns,
): ConstraintError | undefined {
  const kind = KINDS[codeOf(error)];
  if (kind === undefined) return undefined;
  const { constraint, column, detail = '' } = error as ServerError;
  // Key (name, size)=(...) already exists.
  const key = /^Key \(([^)]*)\)=/.exec(detail)?.[1] ?? '';
  const names = new Set([column, ...key.split(', ').map((name) => name.replaceAll('"', ''))]);
  const properties = metadata.columns
    .filter(({ databaseName }) => names.has(databaseName))
    .map(({ propertyPath }) => propertyPath);
  return new ConstraintError(kind, properties, constraint, { cause: error });
}

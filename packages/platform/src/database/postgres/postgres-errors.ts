import type { EntityMetadata } from 'typeorm';
import { ConstraintError, type ConstraintKind } from '../constraint.error.js';
import {
  type DriverErrors,
  type FailureCause,
  getErrorCode,
  type Written,
} from '../data-source/driver-errors.js';

/**
 * The classes of SQLSTATE for refused rows (bad data, constraints, limits) and for faulty statements
 * (not implemented, transaction state, syntax and access, errors of triggers).
 */
const ROW_ERRORS = new Set(['22', '23', '54', '0A', '21', '25', '2B', '3B', '42', '44', 'P0']);

/** The codes of these classes for a server that is read-only or has ended a transaction. */
const STORE_ERRORS = new Set(['25006', '25P03', '25P04']);
/** Lock not available, serialization failure and deadlock. */
const LOCK_ERRORS = new Set(['55P03', '40001', '40P01']);

/**
 * The parts of the server whose errors are about a statement, whatever their codes: a trigger raises
 * any, and a wrong number of parameters has the code of every error of a PgBouncer.
 */
const ROW_ROUTINES = new Set(['exec_stmt_raise', 'exec_bind_message']);

const KINDS: Record<string, ConstraintKind> = {
  // ON DELETE RESTRICT, since PostgreSQL 18.
  '23001': 'referenced',
  '23502': 'not null',
  '23503': 'foreign key',
  '23505': 'unique',
  '23514': 'check',
  '23P01': 'exclusion',
};
/** The violations whose detail names the columns of a key. */
const WITH_KEY = new Set<ConstraintKind>(['unique', 'exclusion', 'foreign key', 'referenced']);

interface ServerError {
  readonly table?: string;
  readonly constraint?: string;
  readonly column?: string;
  readonly detail?: string;
  readonly routine?: string;
}

function findCause(error: unknown): FailureCause {
  const code = getErrorCode(error);
  const codeClass = code.length === 5 ? code.slice(0, 2) : '';
  if (ROW_ROUTINES.has((error as ServerError | undefined)?.routine ?? '')) return 'row';
  if (LOCK_ERRORS.has(code)) return 'lock';
  if (ROW_ERRORS.has(codeClass) && !STORE_ERRORS.has(code)) return 'row';
  // Errors of the driver about its connection have no code, and are plain errors.
  return error instanceof TypeError || error instanceof RangeError ? 'row' : 'store';
}

/** The texts of the server may be in any language. */
function toConstraintError(
  error: unknown,
  entities: readonly EntityMetadata[],
  written?: Written,
): ConstraintError | undefined {
  const kind = KINDS[getErrorCode(error)];
  if (kind === undefined) return undefined;
  const { table, constraint, column, detail = '' } = error as ServerError;
  const isReferenced =
    kind === 'referenced' || (kind === 'foreign key' && written?.isRemoval === true);
  const writer = entities.find(({ tableName }) => tableName === table);
  const foreignKey = writer?.foreignKeys.find(({ name }) => name === constraint);
  const named = isReferenced
    ? (foreignKey?.referencedEntityMetadata.tableName ?? written?.table)
    : table;
  const entity = entities.find(({ tableName }) => tableName === named);
  // Key (name, size)=(...) already exists. In every language the columns are written like this. For
  // other violations the detail has only the values of the row, which a client may choose.
  const key = WITH_KEY.has(kind) ? (/^[^(]*\(([^)]*)\)=\(/.exec(detail)?.[1] ?? '') : '';
  const names = new Set([column, ...key.split(', ').map((name) => name.replaceAll('"', ''))]);
  const properties = (entity?.columns ?? [])
    .filter(({ databaseName }) => names.has(databaseName))
    .map(({ propertyPath }) => propertyPath);
  return new ConstraintError({
    kind: isReferenced ? 'referenced' : kind,
    table: named,
    properties,
    constraint,
    entity,
    cause: error,
  });
}

export const postgresErrors: DriverErrors = { findCause, toConstraintError };

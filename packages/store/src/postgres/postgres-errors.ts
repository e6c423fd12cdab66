import type { EntityMetadata } from 'typeorm';
import type { DriverErrors, FailureCause, Written } from '../engine/engine.js';
import { ConstraintError, type ConstraintKind } from '../errors/constraint.error.js';
import { getErrorCode } from '../engine/driver-errors.js';
import { StoreUnavailableError } from '../errors/store.errors.js';

/**
 * The codes of a server that would refuse any row: connection, prepared statements (which a PgBouncer
 * may lose), authentication, a missing database, a read-only server, transactions that it has ended,
 * resources, operators, the system, its configuration and its own faults. All other codes are about a
 * row, or about a statement that is wrong for each row.
 */
const STORE_ERRORS = /^(?:08|26|28|3D|25006|25P0[34]|53|57|58|F0|XX)/;
/**
 * The codes among them that may interrupt a trigger, too. A trigger may have caused the others by
 * itself.
 */
const OUTAGES = /^(?:25P0[34]|53|57|58|XX00[12])/;
/** Lock not available, serialization failure and deadlock. */
const LOCK_ERRORS = new Set(['55P03', '40001', '40P01']);
/** The server ends the connection. It may write these words in another language. */
const ENDING = new Set(['FATAL', 'PANIC']);

/**
 * The parts of the server whose errors are about a statement, whatever their codes: RAISE takes any,
 * and a wrong number of parameters has the code of every error of a PgBouncer.
 */
const ROW_ROUTINES = new Set(['exec_stmt_raise', 'exec_bind_message']);
/**
 * The parts whose errors are about the store: they refuse all writes of a server that has run out of
 * numbers for transactions, and prepared statements of a table that was changed.
 */
const STORE_ROUTINES = new Set([
  'GetNewTransactionId',
  'GetNewMultiXactId',
  'RevalidateCachedQuery',
]);
/** The parts that check what a connection has prepared, or what a function of it has. */
const STALE_ROUTINES =
  /^(?:RevalidateCachedQuery|plpgsql_param_eval\w*|ExecEvalFieldSelect|CheckVarSlotCompatibility)$/;
/** No index for ON CONFLICT, and a column that the server computes: found after the syntax. */
const REFUSED_STATEMENTS = new Set(['42P10', '428C9']);

const KINDS_BY_CODE: Record<string, ConstraintKind> = {
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

/** The fields of an error that a server has sent. */
interface ServerError {
  readonly severity?: string;
  readonly table?: string;
  readonly constraint?: string;
  readonly column?: string;
  readonly detail?: string;
  /** The position in the statement that the server does not accept, in characters from 1. */
  readonly position?: string;
  /** The functions and triggers in which the error was raised. */
  readonly where?: string;
  /** The function of the server that reports it. */
  readonly routine?: string;
}

function findCause(error: unknown): FailureCause {
  const { severity, routine = '', where } = error as ServerError;
  const code = getErrorCode(error);
  if (severity === undefined) {
    // Errors of the driver about its connection are plain errors.
    return error instanceof TypeError || error instanceof RangeError ? 'row' : 'store';
  }
  if (ENDING.has(severity) || STORE_ROUTINES.has(routine)) return 'store';
  if (ROW_ROUTINES.has(routine)) return 'row';
  if (LOCK_ERRORS.has(code)) return 'lock';
  const storeErrors = where === undefined ? STORE_ERRORS : OUTAGES;
  return storeErrors.test(code) ? 'store' : 'row';
}

/**
 * Whether a statement has failed because tables were changed after its connection, or a function on
 * it, had prepared it. On a new connection it may succeed.
 */
export function isStaleStatement(error: unknown): boolean {
  return STALE_ROUTINES.test((error as ServerError).routine ?? '');
}

/**
 * Whether the server refuses a statement whatever its rows are. If the program has written the
 * statement, a table was changed.
 */
export function isRefusedStatement(error: unknown): boolean {
  const { position, where } = error as ServerError;
  if (where !== undefined) return false;
  if (REFUSED_STATEMENTS.has(getErrorCode(error))) return true;
  // The server also reports a position where it waited in vain for the lock of a table, or was
  // canceled.
  return position !== undefined && findCause(error) === 'row';
}

/** How much of a refused statement an error shows, in characters. */
const SHOWN_CHARACTERS = 60;

/** Explains to the operator which statement of the program the server refuses. */
export function explainRefusedStatement(error: unknown, sql: string): StoreUnavailableError {
  const { message, position } = error as Error & ServerError;
  const show = (start: number): string =>
    sql.slice(start, start + SHOWN_CHARACTERS).replace(/\s+/g, ' ');
  // The beginning names the table, and the position its column.
  const shownFrom = Math.max(0, Number(position ?? 1) - SHOWN_CHARACTERS / 2);
  return new StoreUnavailableError(
    new Error(
      `A table has changed, so this program cannot use it: ${message}, in: ${show(0)} ... ${show(shownFrom)}`,
    ),
  );
}

/** The texts of the server may be in any language. */
function toConstraintError(
  error: unknown,
  entities: readonly EntityMetadata[],
  written?: Written,
): ConstraintError | undefined {
  const kind = KINDS_BY_CODE[getErrorCode(error)];
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

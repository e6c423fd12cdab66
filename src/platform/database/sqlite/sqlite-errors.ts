import type { EntityMetadata } from 'typeorm';
import type { FailureCause } from '../batching/session.js';
import { ConstraintError } from '../constraint.error.js';
import { getErrorCode } from '../data-source/error-code.js';

/** The codes for refused rows. */
const ROW_ERRORS = new Set(['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG']);

/** The codes for faulty statements. */
const STATEMENT_ERRORS = new Set([...ROW_ERRORS, 'SQLITE_ERROR', 'SQLITE_RANGE', 'SQLITE_MISUSE']);

/** The codes after which a cached page may differ from the file. */
const READ_ERRORS = new Set(['SQLITE_IOERR', 'SQLITE_CORRUPT', 'SQLITE_NOTADB']);

/** The message for a violated constraint: its kind, and its columns or its name. */
const CONSTRAINT = /(UNIQUE|FOREIGN KEY|CHECK|NOT NULL) constraint failed(?:: (.+))?$/;

export function classifyFailure(error: unknown): FailureCause {
  return ROW_ERRORS.has(getErrorCode(error)) ? 'row' : 'store';
}

/**
 * Converts an error that reports a violated constraint; undefined for others.
 *
 * @param entities the entities whose tables may be concerned
 * @param table the table of the row, if known
 * @param isRemoval whether rows were to be removed
 */
export function toConstraintError(
  error: unknown,
  entities: readonly EntityMetadata[],
  table?: string,
  isRemoval = false,
): ConstraintError | undefined {
  const [, kind, subject] = CONSTRAINT.exec((error as Error).message) ?? [];
  switch (kind) {
    case 'UNIQUE':
    case 'NOT NULL': {
      const names = subject?.split(', ') ?? [];
      const entity = entities.find(({ tableName }) => names[0]?.startsWith(`${tableName}.`));
      return new ConstraintError(
        kind === 'UNIQUE' ? 'unique' : 'not null',
        entity?.tableName ?? table,
        entity?.columns
          .filter(({ databaseName }) => names.includes(`${entity.tableName}.${databaseName}`))
          .map(({ propertyPath }) => propertyPath) ?? [],
        undefined,
        { cause: error },
      );
    }
    case 'CHECK':
      return new ConstraintError('check', table, [], subject, { cause: error });
    case 'FOREIGN KEY': {
      const keys = entities.find(({ tableName }) => tableName === table)?.primaryColumns ?? [];
      const properties = isRemoval ? keys.map(({ propertyPath }) => propertyPath) : [];
      const violated = isRemoval ? 'referenced' : 'foreign key';
      return new ConstraintError(violated, table, properties, undefined, { cause: error });
    }
    default:
      return undefined;
  }
}

/** Whether the store failed, rather than the statement. */
export function isStoreFailure(error: unknown): boolean {
  const code = getErrorCode(error);
  return code.startsWith('SQLITE_') && !STATEMENT_ERRORS.has(code);
}

/** Whether SQLite may have read other data than was written. */
export function mayMisread(error: unknown): boolean {
  return READ_ERRORS.has(getErrorCode(error));
}

/** Describes an error of a file for the operator; undefined for other errors. */
export function describeSqliteError(error: unknown): string | undefined {
  return REASONS[getErrorCode(error)];
}

const REASONS: Record<string, string> = {
  SQLITE_NOTADB: 'the file is not a SQLite database',
  SQLITE_CANTOPEN: 'the file cannot be opened or created',
  SQLITE_READONLY: 'the file is read-only',
  SQLITE_BUSY: 'another process holds a lock on it',
  SQLITE_CORRUPT: 'the file is damaged',
  SQLITE_FULL: 'the disk is full',
  SQLITE_IOERR: 'reading or writing the file failed',
  EIO: 'reading or writing the file failed',
};

import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { FailureCause } from '../batching/session.js';
import { ConstraintError } from '../constraint.error.js';
import { getErrorCode } from '../data-source/error-code.js';
import type { Written } from '../data-source/find-written.js';

/** The codes for refused rows. */
const ROW_ERRORS = new Set(['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG']);

/** The codes for faulty statements. */
const STATEMENT_ERRORS = new Set([...ROW_ERRORS, 'SQLITE_ERROR', 'SQLITE_RANGE', 'SQLITE_MISUSE']);

/** The message for a violated constraint: its kind, and its columns or its name. */
const CONSTRAINT = /(UNIQUE|FOREIGN KEY|CHECK|NOT NULL) constraint failed(?:: (.+))?$/;

export function classifyFailure(error: unknown): FailureCause {
  return ROW_ERRORS.has(getErrorCode(error)) ? 'row' : 'store';
}

/**
 * Converts an error that reports a violated constraint; undefined for others.
 *
 * @param entities the entities whose tables may be concerned
 * @param written what the statement writes to, if known
 */
export function toConstraintError(
  error: unknown,
  entities: readonly EntityMetadata[],
  written?: Written,
): ConstraintError | undefined {
  const [, kind, subject] = CONSTRAINT.exec((error as Error).message) ?? [];
  const table = written?.table;
  const options = { cause: error };
  switch (kind) {
    case 'UNIQUE':
    case 'NOT NULL': {
      const names = subject?.split(', ') ?? [];
      const entity = entities.find(({ tableName }) => names[0]?.startsWith(`${tableName}.`));
      const columns = entity?.columns.filter(({ databaseName }) =>
        names.includes(`${entity.tableName}.${databaseName}`),
      );
      return new ConstraintError(
        kind === 'UNIQUE' ? 'unique' : 'not null',
        entity?.tableName ?? table,
        listProperties(columns),
        undefined,
        options,
      );
    }
    case 'CHECK':
      return new ConstraintError('check', table, [], subject, options);
    case 'FOREIGN KEY': {
      const entity = entities.find(({ tableName }) => tableName === table);
      if (written?.isRemoval === true) {
        const key = listProperties(entity?.primaryColumns);
        return new ConstraintError('referenced', table, key, undefined, options);
      }
      // SQLite does not report which one of several.
      const [key, ...others] = entity?.foreignKeys ?? [];
      const properties = others.length === 0 ? listProperties(key?.columns) : [];
      return new ConstraintError('foreign key', table, properties, undefined, options);
    }
    default:
      return undefined;
  }
}

function listProperties(columns: readonly ColumnMetadata[] = []): string[] {
  return columns.map(({ propertyPath }) => propertyPath);
}

/** Whether the store failed, rather than the statement. */
export function isStoreFailure(error: unknown): boolean {
  const code = getErrorCode(error);
  return code.startsWith('SQLITE_') && !STATEMENT_ERRORS.has(code);
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

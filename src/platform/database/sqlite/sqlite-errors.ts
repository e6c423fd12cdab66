import { ConstraintError } from '../constraint.error.js';
import type { EntityColumns } from '../batching/entity-columns.js';
import { codeOf } from '../data-source/error-code.js';

/** The codes with which SQLite refuses a row itself. */
const ROW_ERRORS = new Set(['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG']);

/** The codes that say that the statement is at fault. */
const STATEMENT_ERRORS = new Set([...ROW_ERRORS, 'SQLITE_ERROR', 'SQLITE_RANGE', 'SQLITE_MISUSE']);

export function isRowError(error: unknown): boolean {
  return ROW_ERRORS.has(codeOf(error));
}

/** What SQLite says of a constraint: its kind, and the columns or the name of the constraint. */
const CONSTRAINT = /(UNIQUE|FOREIGN KEY|CHECK|NOT NULL) constraint failed(?:: (.+))?$/;

export function constraintOf(
  error: unknown,
  { metadata }: EntityColumns,
): ConstraintError | undefined {
  const [, kind, subject] = CONSTRAINT.exec((error as Error).message) ?? [];
  switch (kind) {
    case 'UNIQUE':
    case 'NOT NULL':
      return new ConstraintError(
        kind === 'UNIQUE' ? 'unique' : 'not null',
        metadata.columns
          .filter(({ databaseName }) =>
            subject?.split(', ').includes(`${metadata.tableName}.${databaseName}`),
          )
          .map(({ propertyPath }) => propertyPath),
        undefined,
        { cause: error },
      );
    case 'CHECK':
      return new ConstraintError('check', [], subject, { cause: error });
    case 'FOREIGN KEY':
      return new ConstraintError('foreign key', [], undefined, { cause: error });
    default:
      return undefined;
  }
}

/** Whether the store failed, and not what it was asked to do. */
export function isStoreFailure(error: unknown): boolean {
  const code = codeOf(error);
  return code.startsWith('SQLITE_') && !STATEMENT_ERRORS.has(code);
}

/** What went wrong with a file, in words for the operator. */
export function sqliteReason(error: unknown): string | undefined {
  return REASONS[codeOf(error)];
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

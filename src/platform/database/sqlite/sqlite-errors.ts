import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { ConstraintError } from '../constraint.error.js';
import {
  type DriverErrors,
  type FailureCause,
  getErrorCode,
  type Written,
} from '../data-source/driver-errors.js';

/** The codes for refused rows. */
const ROW_ERRORS = new Set(['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG']);

/** The codes for faulty statements. */
const STATEMENT_ERRORS = new Set([...ROW_ERRORS, 'SQLITE_ERROR', 'SQLITE_RANGE', 'SQLITE_MISUSE']);

/** The message for a violated constraint: its kind, and its columns or its name. */
const CONSTRAINT = /(UNIQUE|FOREIGN KEY|CHECK|NOT NULL) constraint failed(?:: (.+))?$/;

function findCause(error: unknown): FailureCause {
  return ROW_ERRORS.has(getErrorCode(error)) ? 'row' : 'store';
}

function toConstraintError(
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

function isStoreFailure(error: unknown): boolean {
  const code = getErrorCode(error);
  return code.startsWith('SQLITE_') && !STATEMENT_ERRORS.has(code);
}

export const sqliteErrors: DriverErrors = { findCause, isStoreFailure, toConstraintError };

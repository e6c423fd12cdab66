import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { DriverErrors, FailureCause, Written } from '../engine/engine.js';
import { ConstraintError, type ConstraintKind, hasSameItems } from '../errors/constraint.error.js';
import { listDeclared } from '../entities/declared-constraints.js';
import { getErrorCode } from '../engine/driver-errors.js';

/** The codes for refused rows and for faulty statements. The others are about the store. */
const ROW_ERRORS = new Set([
  ...['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG'],
  ...['SQLITE_ERROR', 'SQLITE_RANGE', 'SQLITE_MISUSE'],
]);

/** The message for a violated constraint: its kind, and its columns or its name. */
const CONSTRAINT = /(UNIQUE|FOREIGN KEY|CHECK|NOT NULL) constraint failed(?:: (.+))?$/;

function findCause(error: unknown): FailureCause {
  const code = getErrorCode(error);
  return code.startsWith('SQLITE_') && !ROW_ERRORS.has(code) ? 'store' : 'row';
}

function toConstraintError(
  error: unknown,
  entities: readonly EntityMetadata[],
  written?: Written,
): ConstraintError | undefined {
  const [, name, subject = ''] = CONSTRAINT.exec((error as Error).message) ?? [];
  if (name === undefined) return undefined;
  const isReferenced = name === 'FOREIGN KEY' && written?.isRemoval === true;
  const kind = isReferenced ? 'referenced' : (name.toLowerCase() as ConstraintKind);
  const hasColumns = kind === 'unique' || kind === 'not null';
  const isOfIndex = subject.startsWith('index ');
  const table = hasColumns && !isOfIndex ? subject.split('.', 1)[0] : written?.table;
  const entity = entities.find(({ tableName }) => tableName === table);
  const columns = entity === undefined ? [] : findColumns(entity, kind, subject.split(', '));
  const properties = columns.map(({ propertyPath }) => propertyPath);
  const constraint = findName(kind, subject, properties, entity);
  return new ConstraintError({ kind, table, properties, constraint, entity, cause: error });
}

/** Finds the name of a constraint, which SQLite reports of a check and of an index on expressions. */
function findName(
  kind: ConstraintKind,
  subject: string,
  properties: readonly string[],
  entity: EntityMetadata | undefined,
): string | undefined {
  if (kind === 'check') return subject;
  const [, index] = /^index '(.+)'$/.exec(subject) ?? [];
  if (index !== undefined || entity === undefined || properties.length === 0) return index;
  const declared = listDeclared(entity).filter((one) => one.kind === kind);
  return declared.find((one) => hasSameItems(one.properties, properties))?.constraint;
}

/** @param names of the columns, with the name of the table in front */
function findColumns(
  { tableName, columns, primaryColumns, foreignKeys }: EntityMetadata,
  kind: ConstraintKind,
  names: readonly string[],
): readonly ColumnMetadata[] {
  if (kind === 'referenced') return primaryColumns;
  // SQLite does not report which one of several foreign keys.
  if (kind === 'foreign key' && foreignKeys.length === 1) return foreignKeys[0]?.columns ?? [];
  return columns.filter(({ databaseName }) => names.includes(`${tableName}.${databaseName}`));
}

export const sqliteErrors: DriverErrors = { findCause, toConstraintError };

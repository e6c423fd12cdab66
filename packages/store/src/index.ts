// The names of the store.

// Rows
export { changeSchema, CreateTable } from './migrations/create-table.js';
export {
  BatchedRepository,
  BatchedRepositoryOf,
  REMOVE,
} from './repositories/batched-repository.js';
export type { JsonPage, PageQuery } from './repositories/page-reader.js';
export type { RowInput } from './repositories/row-input.js';
export {
  boolean,
  bytes,
  date,
  decimal,
  instant,
  int32,
  int64,
  json,
  nullable,
  oneOf,
  text,
  uuid,
} from './entities/columns.js';
export { inRange, startsWithIgnoringCase } from './repositories/filters.js';
export { RecordChanges } from './entities/record-changes.decorator.js';
export { Jobs } from './repositories/jobs.js';
export { ChangeFeed, CURSOR, LATEST } from './change-feed/change-feed.js';
export { Decimal } from './json/decimal.js';
export { JsonText } from './json/json-text.js';

// Opening a store
export {
  createDataSource,
  createStoreOptions,
  openDatabase,
  platformSchema,
  type Schema,
  type StoreOptions,
  type StoreSettings,
} from './open/open-database.js';
export { parseDatabaseUrl } from './open/database-url.js';
export type { StoreDataSource } from './engine/store-data-source.js';
export { StoreFailures } from './engine/store-failures.js';

// Errors
export {
  ChangesGoneError,
  DatabaseStartError,
  InvalidCursorError,
  MayBeStoredError,
  StoreOverloadedError,
  StoreUnavailableError,
} from './errors/store.errors.js';
export { ConstraintError, type ConstraintKind, hasSameItems } from './errors/constraint.error.js';
export { IncompleteListError, type ListOutcome } from './repositories/list-outcome.js';
export type { StoreError } from './repositories/store-error.js';

// For a layer above, such as durable-rest
export { type DeclaredConstraint, listDeclared } from './entities/declared-constraints.js';
export { iterate } from './repositories/iterate.js';
export { MAX_WAIT_TIMEOUT_MS, MIN_WAIT_TIMEOUT_MS, WAIT_TIMEOUT_MS } from './engine/time-limits.js';
export {
  CALENDAR_DATE,
  INSTANT_TYPE,
  isString,
  isText,
  isValueType,
  type Reader,
  unchanged,
  UUID_TYPE,
  type ValueType,
} from './entities/values.js';

// Commands
export { copyStore } from './commands/copy-store.js';
export {
  assertNoCompanion,
  countRows,
  estimateCheck,
  findIntegrityFaults,
  measureContents,
  useStoreFile,
} from './commands/sqlite-file.js';
export type { StoreMigrations } from './commands/store-migrations.js';
export type { SqliteConnection } from './sqlite/sqlite-connection.js';
export { flush, flushFolder } from './sqlite/store-files.js';

// The names of the store.

// Rows
export {
  BatchedRepository,
  BatchedRepositoryOf,
  type JsonPage,
  type PageQuery,
  REMOVE,
  type RowInput,
} from './batched-repository.js';
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
} from './columns.js';
export { inRange, startsWithIgnoringCase } from './filters.js';
export { changeSchema, CreateTable } from './migration-steps.js';
export { RecordChanges } from './record-changes.decorator.js';
export { Jobs } from './jobs.js';
export { ChangeFeed, CURSOR, LATEST } from './change-feed.js';
export { Decimal } from './json/decimal.js';
export { JsonText } from './json/json-text.js';

// The place that opens a store
export {
  createDataSource,
  createStoreOptions,
  openDatabase,
  platformSchema,
  type Schema,
  type StoreOptions,
  type StoreSettings,
} from './data-source/open-database.js';
export { parseDatabaseUrl } from './database-url.js';
export type { StoreDataSource } from './data-source/store-data-source.js';
export { StoreFailures } from './data-source/store-failures.js';

// Errors
export {
  ChangesGoneError,
  DatabaseStartError,
  InvalidCursorError,
  MayBeStoredError,
  StoreOverloadedError,
  StoreUnavailableError,
} from './store.errors.js';
export { ConstraintError, type ConstraintKind, hasSameItems } from './constraint.error.js';
export { IncompleteListError, type ListOutcome } from './list-outcome.js';

// For a layer above, such as durable-rest
export { type DeclaredConstraint, listDeclared } from './declared-constraints.js';
export { iterate } from './iterate.js';
export { WAIT_TIMEOUT_MS } from './time-limits.js';
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
} from './values.js';

// Commands
export { copyStore } from './commands/copy-store.js';
export { assertNoCompanion, findIntegrityFaults, useStoreFile } from './commands/sqlite-file.js';
export type { StoreMigrations } from './commands/store-migrations.js';
export type { SqliteConnection } from './sqlite/sqlite-connection.js';
export { flush, flushFolder } from './sqlite/store-files.js';

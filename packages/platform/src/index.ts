// The names for authors of modules. docs/modules.md shows how to use them.

// Requests and answers
export {
  ApiCreated,
  ApiNoContent,
  ApiOk,
  ApiStream,
  ApiTag,
  BodyLimit,
} from './rest/api.decorators.js';
export { ApiBytes, RawBody, type StoredBytes } from './rest/bytes.js';
export { ConstraintErrors } from './rest/constraint-errors.decorator.js';
export { ApiRepresentation, makeEtag, type Representation } from './rest/etag.js';
export { IdDto, UuidDto } from './rest/id.dto.js';
export { ApiImport, type BodyLines, ImportResultDto, importLines, Lines } from './rest/import.js';
export { applyMergePatch, MergePatch } from './rest/merge-patch.js';
export { ApiPage, IsSort, PageQueryDto } from './rest/page.js';
export { Preconditions, RequestPreconditions } from './rest/preconditions.js';

// Members of DTOs
export {
  IsCalendarDate,
  IsDecimal,
  IsInstant,
  IsInt32,
  IsInt64,
  IsJson,
  IsOptionalNotNull,
  IsText,
  IsUuid,
  Satisfies,
} from './validation/types.decorators.js';
export { MaxValues } from './validation/max-values.js';
export { Decimal } from 'durable-store/json';
export { JsonText } from 'durable-store/json';

// Rows
export {
  BatchedRepository,
  BatchedRepositoryOf,
  type JsonPage,
  REMOVE,
  type RowInput,
} from 'durable-store';
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
} from 'durable-store';
export { inRange, startsWithIgnoringCase } from 'durable-store';
export { changeSchema, CreateTable } from 'durable-store';
export { RecordChanges } from 'durable-store';
export { Jobs } from 'durable-store';

// Errors
export { ApiErrors } from './errors/api-errors.decorator.js';
export { ApiError } from './errors/api-error.js';
export { defineErrors, ErrorCatalogue } from './errors/error-catalogue.js';
export { ConstraintError } from 'durable-store';
export { IncompleteListError } from 'durable-store';
export {
  ChangesGoneError,
  InvalidCursorError,
  MayBeStoredError,
  type StoreError,
  StoreUnavailableError,
} from 'durable-store';
export { toApiError } from './store/store-errors.js';

// Tokens and settings
export { Caller, getCaller, Public, RequireScopes } from './auth/auth.decorators.js';
export type { RequestCaller } from './auth/auth.decorators.js';
export { type Format, provideSettings, Setting } from './config/setting.decorators.js';
export { oneOfWords, wholeNumber } from './config/setting-formats.js';

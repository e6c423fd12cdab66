import { type EntityMetadata, QueryFailedError, TypeORMError } from 'typeorm';
import { StoreUnavailableError } from '../errors/store.errors.js';
import type { DriverErrors, Written } from './engine.js';

/** A table may have the name of its schema in front. */
const WRITE_STATEMENT =
  /^(?:INSERT(?: OR \w+)? INTO|UPDATE|(DELETE) FROM)\s+(?:ONLY\s+)?(?:(?:"[^"]+"|\w+)\.)?(?:"([^"]+)"|(\w+))/i;

/** Returns a statement without the comments and blanks before its first word. */
export function skipComments(sql: string): string {
  return sql.replace(/^(?:\s|--.*\n|\/\*[^]*?\*\/)+/, '');
}

/** Finds the table that a statement writes to; undefined if the statement does not begin with it. */
export function findWritten(sql: string): Written | undefined {
  const [, removal, quoted, plain] = WRITE_STATEMENT.exec(skipComments(sql)) ?? [];
  const table = quoted ?? plain?.toLowerCase();
  return table === undefined ? undefined : { table, isRemoval: removal !== undefined };
}

/** Explains why a statement of TypeORM, or of a module, has failed. */
export function explainFailure(
  error: unknown,
  sql: string,
  parameters: unknown[] | undefined,
  errors: DriverErrors,
  entities: readonly EntityMetadata[],
): Error {
  // The program has refused the statement.
  if (error instanceof TypeORMError) return error;
  const reason = error as Error;
  if (errors.findCause(reason) !== 'row') return new StoreUnavailableError(reason);
  return (
    errors.toConstraintError(reason, entities, findWritten(sql)) ??
    new QueryFailedError(sql, parameters, reason)
  );
}

/** Returns the code of an error of a driver or the system; an empty string if there is none. */
export function getErrorCode(error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? '';
}

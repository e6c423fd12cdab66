import type { ErrorDto } from './error.dto.js';
import { ErrorCatalogue, type ErrorKind, getStatus } from './error-catalogue.js';

/**
 * The one way to fail on purpose: throw it anywhere in the handling of a request and the client
 * gets the status and code. The message must be fit for the client to read.
 */
export class ApiError extends Error {
  /** The HTTP status. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What is sent. */
  readonly body: ErrorDto;

  constructor(
    kind: ErrorKind,
    message: string = kind.message,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = getStatus(kind);
    this.headers = { ...kind.headers, ...headers };
    this.body = { error: kind.error, message };
  }
}

/** @param allow the methods that the path takes, as in an `Allow` header (RFC 9110 section 15.5.6) */
export function methodNotAllowed(allow: string): ApiError {
  return new ApiError(ErrorCatalogue.METHOD_NOT_ALLOWED, `This path takes ${allow}`, {
    Allow: allow,
  });
}

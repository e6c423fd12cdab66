import type { ErrorDto } from './error.dto.js';
import { type ErrorKind, getStatus } from './error-catalogue.js';

/**
 * An error for the client. Thrown anywhere in the handling of a request, it is answered with its
 * status, code and message. The message is for the client: it must contain no internals.
 */
export class ApiError extends Error {
  /** The HTTP status. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the response. */
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

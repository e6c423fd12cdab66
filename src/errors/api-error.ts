import type { ErrorDto } from './error.dto.js';
import { type ErrorEntry, statusOf } from './error-catalogue.js';

/**
 * The one way to fail on purpose: throw it anywhere in the handling of a request and the client
 * gets the entry's status and code. The message must be fit for the client to read.
 */
export class ApiError extends Error {
  /** The HTTP status. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What is sent. */
  readonly body: ErrorDto;

  constructor(
    entry: ErrorEntry,
    message: string = entry.message,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = statusOf(entry);
    this.headers = { ...entry.headers, ...headers };
    this.body = { error: entry.error, message };
  }
}

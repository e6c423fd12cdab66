import type { ErrorEntry } from './error-catalogue.js';

/**
 * The one way to fail on purpose: throw it anywhere in the handling of a request and the client
 * gets the entry's status and code. The message must be fit for the client to read.
 */
export class ApiError extends Error {
  constructor(
    readonly entry: ErrorEntry,
    message: string = entry.message,
    readonly headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ApiError';
  }
}

import { HttpException } from '@nestjs/common';
import type { ErrorDto } from './error.dto.js';
import { type ErrorKind, getStatus } from './error-catalogue.js';

/**
 * An error for the client. Thrown anywhere in the handling of a request, it is answered with its
 * status, code and message. The message is for the client: it must contain no internals. Filters of
 * modules get it as an `HttpException` whose `getResponse()` is the body of the answer.
 */
export class ApiError extends HttpException {
  /** The body of the response. */
  readonly body: ErrorDto;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: ErrorKind,
    message: string = kind.message,
    headers: Readonly<Record<string, string>> = {},
  ) {
    const body = { error: kind.error, message };
    const status = getStatus(kind);
    const { stackTraceLimit } = Error;
    // Nobody sees the stack of a refusal, and recording it takes longer than many a refusal.
    if (status < 500) Error.stackTraceLimit = 0;
    super(body, status);
    Error.stackTraceLimit = stackTraceLimit;
    this.body = body;
    this.headers = { ...kind.headers, ...headers };
  }
}

import { HttpException } from '@nestjs/common';
import type { ErrorDto } from './error.dto.js';
import { type ErrorKind, getStatus } from './error-catalogue.js';

/**
 * An error for the client. Thrown anywhere in the handling of a request, it is answered with its
 * status, code and message. The message is for the client: it must contain no internals. Filters of
 * modules get it as an `HttpException` whose `getResponse()` is the body of the answer.
 *
 * An error with a status below 500 has no stack.
 *
 * @param kind an entry of {@link defineErrors} or of {@link ErrorCatalogue}
 * @param message the message of the kind by default
 * @param headers of the answer, besides the headers of the kind
 * @example
 * ```ts
 * const plant = await plants.find(1n);
 * if (plant === undefined) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
 * ```
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
    // No log has the stack of a refusal, and recording it takes longer than most refusals.
    if (status < 500) Error.stackTraceLimit = 0;
    super(body, status);
    Error.stackTraceLimit = stackTraceLimit;
    this.body = body;
    this.headers = { ...kind.headers, ...headers };
  }
}

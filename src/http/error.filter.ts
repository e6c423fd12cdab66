import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequestAbortedError } from './body-reader.js';
import { REQUEST_ID } from './request.middleware.js';
import { sendJson } from './send-json.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry, statusOf } from '../errors/error-catalogue.js';

/** Answers every failure that Nest and Express know of, in the Error shape. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (exception instanceof RequestAbortedError) return;

    const error = toApiError(exception);
    // What is unavailable is logged where that shows: requests without number may meet it.
    if (error.body.error === ErrorCatalogue.INTERNAL.error) {
      this.logger.error({
        requestId: response.getHeader(REQUEST_ID),
        err: exception,
      });
    }
    if (!request.socket.destroyed) {
      sendJson(request, response, error.status, error.headers, error.body);
    }
  }
}

/** What a client may know of an exception. */
function toApiError(exception: unknown): ApiError {
  if (exception instanceof ApiError) return exception;
  // Nest and Express fail in ways of their own, with a status but with texts that are not ours.
  const status = exception instanceof HttpException ? exception.getStatus() : 500;
  const entries: readonly ErrorEntry[] = Object.values(ErrorCatalogue);
  const entry = entries.find((candidate) => statusOf(candidate) === status);
  if (entry !== undefined) return new ApiError(entry);
  return new ApiError(status < 500 ? ErrorCatalogue.MALFORMED_REQUEST : ErrorCatalogue.INTERNAL);
}

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

/** Answers every exception of Nest, Express and the handlers in the Error shape. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (exception instanceof RequestAbortedError) return;

    const error = toApiError(exception);
    // A 503 is logged where its cause is found, once, and not for every request.
    if (error.body.error === ErrorCatalogue.INTERNAL.error) {
      this.logger.error({
        requestId: response.getHeader(REQUEST_ID),
        err: exception,
      });
    }
    // Not where the connection is closed, or refused with an answer of its own.
    if (request.socket.writable) {
      sendJson(request, response, error.status, error.headers, error.body);
    }
  }
}

/** What a client may learn of an exception. */
function toApiError(exception: unknown): ApiError {
  if (exception instanceof ApiError) return exception;
  // The messages of Nest and Express are not meant for clients, only their statuses.
  const status = exception instanceof HttpException ? exception.getStatus() : 500;
  const entries: readonly ErrorEntry[] = Object.values(ErrorCatalogue);
  const entry = entries.find((candidate) => statusOf(candidate) === status);
  if (entry !== undefined) return new ApiError(entry);
  return new ApiError(status < 500 ? ErrorCatalogue.MALFORMED_REQUEST : ErrorCatalogue.INTERNAL);
}

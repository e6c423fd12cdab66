import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Request, Response } from 'express';
import { STATUS_CODES } from 'node:http';
import { sendError } from './send-error.js';
import { ConstraintError, type StoreDataSource, StoreUnavailableError } from 'durable-store';
import { findUnreported, toApiError as answerStoreError } from '../store/store-errors.js';
import { makeChallenge, Service } from '../config/service.js';
import { ApiError } from '../errors/api-error.js';
import { readExceptionText } from '../errors/exception-text.js';
import { RequestAbortedError } from '../errors/request-aborted.error.js';
import { ErrorCatalogue, type ErrorKind } from '../errors/error-catalogue.js';

/**
 * Answers every exception of Nest, Express and the handlers in the Error shape.
 *
 * @example
 * ```ts
 * @Module({ providers: [{ provide: APP_FILTER, useClass: ErrorFilter }] })
 * class ApplicationModule {}
 * ```
 */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');

  constructor(
    private readonly service: Service,
    @InjectDataSource() private readonly store: StoreDataSource,
  ) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    // Nest answers the clients of gateways and other transports itself.
    if (host.getType() !== 'http') throw exception;
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (exception instanceof RequestAbortedError) return;

    const error = toApiError(exception, response, this.service);
    const { id: requestId } = request.state;
    request.state.error = error.body.error;
    const failure = findUnreported(exception);
    if (failure !== undefined) {
      this.store.failures.report(failure, { requestId });
    } else if (error.getStatus() >= 500 && !isOverload(exception)) {
      // Such as the health checks of @nestjs/terminus that failed.
      const details = exception instanceof HttpException ? exception.getResponse() : undefined;
      this.logger.error({ requestId, err: exception, details });
    }
    // The connection may be closed, or may have been refused with another answer.
    if (request.socket.writable) void sendError(response, error);
  }
}

/** Overload is counted in the metrics, and a line for each request would add to it. */
function isOverload(exception: unknown): boolean {
  if (exception instanceof StoreUnavailableError) return true;
  return exception instanceof ApiError && exception.getStatus() === 503;
}

/** Converts an exception to the error for the client, without internals. */
function toApiError(exception: unknown, response: Response, service: Service): ApiError {
  if (exception instanceof ApiError) return exception;
  if (exception instanceof ConstraintError) {
    const { body } = response.req as { readonly body?: Partial<Record<string, unknown>> };
    const sentNull = exception.properties.find((name) => body?.[name] === null);
    if (exception.kind === 'not null' && sentNull !== undefined) {
      return new ApiError(
        ErrorCatalogue.INVALID_BODY,
        `The body is not valid: ${sentNull} must not be null`,
      );
    }
  }
  const ofStore = answerStoreError(exception);
  if (ofStore !== undefined) return ofStore;
  if (!(exception instanceof HttpException)) return new ApiError(ErrorCatalogue.INTERNAL);
  const status = exception.getStatus();
  if (exception.cause instanceof URIError) {
    return new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be decoded');
  }
  if (status < 400 || status > 599 || status === 500) return new ApiError(ErrorCatalogue.INTERNAL);
  const kind = findKind(exception, service);
  // A header that the handler has set wins.
  const own = Object.keys(kind.headers ?? {}).filter((name) => response.hasHeader(name));
  const headers = own.map((name) => [name, String(response.getHeader(name))] as const);
  const message = readExceptionText(exception) ?? STATUS_CODES[status] ?? 'Error';
  return new ApiError(kind, message, Object.fromEntries(headers));
}

/** Ends the codes of errors that mean no more than their status. */
const GENERIC = 99;

/** Makes the headers that an answer with the status needs, or that help its client. */
function makeHeaders(status: number, service: Service): ErrorKind['headers'] {
  switch (status) {
    case 401:
      return makeChallenge(service);
    case 429:
      return ErrorCatalogue.TOO_MANY_REQUESTS.headers;
    case 503:
      return ErrorCatalogue.UNAVAILABLE.headers;
    default:
      return {};
  }
}

/** The other codes of a status have meanings that an exception of a module does not have. */
function findKind(exception: HttpException, service: Service): ErrorKind {
  const status = exception.getStatus();
  const headers = makeHeaders(status, service) ?? {};
  return { error: status * 100 + GENERIC, message: '', headers };
}

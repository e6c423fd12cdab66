import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { STATUS_CODES } from 'node:http';
import { RequestAbortedError } from '../requests/body-chunks.js';
import { endTurn } from '../requests/turns.js';
import { isRejectedByPipes } from '../requests/handler-parameters.js';
import { sendError } from './send-error.js';
import { ConstraintError } from '../database/constraint.error.js';
import { storeFailures } from '../database/data-source/store-failures.js';
import { StoreUnavailableError } from '../database/store-unavailable.error.js';
import { ApiError } from '../errors/api-error.js';
import type { RequestLocals } from '../observability/pino-logger.js';
import { listErrors, ErrorCatalogue, type ErrorKind } from '../errors/error-catalogue.js';

/** Answers every exception of Nest, Express and the handlers in the Error shape. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response<unknown, RequestLocals>>();
    endTurn(response);
    if (exception instanceof RequestAbortedError) return;

    const error = exceptionToApiError(exception, request, response);
    const { requestId } = response.locals;
    response.locals.error = error.body.error;
    // Other 503s are logged at their source; under overload every request would repeat them.
    if (exception instanceof StoreUnavailableError) storeFailures.report(exception, { requestId });
    else if (error.status >= 500 && error.status !== 503) {
      this.logger.error({ requestId, err: exception });
    }
    // The connection may be closed, or may have been refused with another answer.
    if (request.socket.writable) void sendError(response, error);
  }
}

/** Converts an exception to the error for the client, without internals. */
function exceptionToApiError(exception: unknown, request: Request, response: Response): ApiError {
  if (exception instanceof ApiError) return exception;
  if (exception instanceof StoreUnavailableError) return new ApiError(ErrorCatalogue.UNAVAILABLE);
  if (exception instanceof ConstraintError) return exception.toApiError();
  if (!(exception instanceof HttpException)) return new ApiError(ErrorCatalogue.INTERNAL);
  const kind = toErrorKind(exception, request);
  // Headers the handler already set win over the catalogue's defaults.
  const own = Object.keys(kind.headers ?? {}).filter((name) => response.hasHeader(name));
  const headers = own.map((name) => [name, String(response.getHeader(name))]);
  return new ApiError(
    kind,
    getClientMessage(exception) ?? kind.message,
    Object.fromEntries(headers) as Record<string, string>,
  );
}

/** Suffix of the generic code for a status whose 00 a feature has taken (40999). */
const GENERIC = 99;

function toErrorKind(exception: HttpException, request: Request): ErrorKind {
  const status = exception.getStatus();
  if (status < 400 || status > 599) return ErrorCatalogue.INTERNAL;
  if (status === 400 && isRejectedByPipes(request)) return ErrorCatalogue.INVALID_PARAMETERS;
  const code = status * 100;
  const shared = Object.values(ErrorCatalogue).find(({ error }) => error === code);
  // CHANGES_GONE belongs to the feed of changes alone.
  if (shared !== undefined && shared !== ErrorCatalogue.CHANGES_GONE) return shared;
  const isTaken = listErrors().some(({ error }) => error === code);
  return { error: isTaken ? code + GENERIC : code, message: STATUS_CODES[status] ?? 'Error' };
}

/** Reads the message of an exception if clients may read it; undefined otherwise. */
function getClientMessage(exception: HttpException): string | undefined {
  const { cause } = exception;
  const status = exception.getStatus();
  const response = exception.getResponse();
  if (cause instanceof URIError) return 'The path cannot be decoded';
  const isForClients = (status >= 400 && status < 500) || status === 503;
  // Nest wraps errors of Express and its middleware, whose messages may contain internals.
  const isExpressError =
    cause instanceof Error && ('expose' in cause || cause instanceof SyntaxError);
  if (!isForClients || isExpressError || response instanceof Error) return undefined;
  const message: unknown =
    typeof response === 'string' ? response : Reflect.get(response, 'message');
  if (Array.isArray(message)) return message.join('; ');
  return typeof message === 'string' ? message : undefined;
}

import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { STATUS_CODES } from 'node:http';
import { RequestAbortedError } from '../requests/body-reader.js';
import { isRejectedByPipes } from '../requests/handler-parameters.js';
import { sendJson } from './send-json.js';
import { ConstraintError } from '../database/constraint.error.js';
import { storeFailures } from '../database/data-source/store-failures.js';
import { StoreUnavailableError } from '../database/store-unavailable.error.js';
import { ApiError } from '../errors/api-error.js';
import { allErrors, ErrorCatalogue, type ErrorKind } from '../errors/error-catalogue.js';

/** Answers every exception of Nest, Express and the handlers in the Error shape. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (exception instanceof RequestAbortedError) return;

    const error = toApiError(exception, request, response);
    const requestId = response.locals.requestId as string;
    // Other 503s are logged where their cause shows: requests without number may meet it.
    if (exception instanceof StoreUnavailableError) storeFailures.report(exception, { requestId });
    else if (error.status >= 500 && error.status !== 503) {
      this.logger.error({ requestId, err: exception });
    }
    // Not where the connection is closed, or refused with an answer of its own.
    if (request.socket.writable) {
      sendJson(request, response, error.status, error.headers, error.body);
    }
  }
}

/** The error that answers an exception: what a client may know of it. */
function toApiError(exception: unknown, request: Request, response: Response): ApiError {
  if (exception instanceof ApiError) return exception;
  if (exception instanceof StoreUnavailableError) return new ApiError(ErrorCatalogue.UNAVAILABLE);
  if (exception instanceof ConstraintError) return exception.toApiError();
  if (!(exception instanceof HttpException)) return new ApiError(ErrorCatalogue.INTERNAL);
  const kind = kindOf(exception, request);
  // What the handler has set says more than what every such answer carries.
  const own = Object.keys(kind.headers ?? {}).filter((name) => response.hasHeader(name));
  const headers = own.map((name) => [name, String(response.getHeader(name))]);
  return new ApiError(
    kind,
    messageOf(exception) ?? kind.message,
    Object.fromEntries(headers) as Record<string, string>,
  );
}

/** The number of a code that stands for any failure of its status, where 00 is a feature's own. */
const ANY_OTHER = 99;

function kindOf(exception: HttpException, request: Request): ErrorKind {
  const status = exception.getStatus();
  if (status < 400 || status > 599) return ErrorCatalogue.INTERNAL;
  if (status === 400 && isRejectedByPipes(request)) return ErrorCatalogue.INVALID_PARAMETERS;
  const shared: readonly ErrorKind[] = Object.values(ErrorCatalogue);
  const code = status * 100;
  const isTaken = allErrors().some(({ error }) => error === code);
  return (
    shared.find(({ error }) => error === code) ?? {
      error: isTaken ? code + ANY_OTHER : code,
      message: STATUS_CODES[status] ?? 'Error',
    }
  );
}

/** The message of an exception that is meant for clients; undefined where it may not be. */
function messageOf(exception: HttpException): string | undefined {
  const { cause } = exception;
  const status = exception.getStatus();
  const response = exception.getResponse();
  if (cause instanceof URIError) return 'The path cannot be decoded';
  const isForClients = (status >= 400 && status < 500) || status === 503;
  if (!isForClients || isOfExpress(cause) || response instanceof Error) return undefined;
  const message: unknown =
    typeof response === 'string' ? response : Reflect.get(response, 'message');
  if (Array.isArray(message)) return message.join('; ');
  return typeof message === 'string' ? message : undefined;
}

/** Whether Nest made an exception of an error of Express or of its middleware, which may say anything. */
function isOfExpress(cause: unknown): boolean {
  return cause instanceof Error && ('expose' in cause || cause instanceof SyntaxError);
}

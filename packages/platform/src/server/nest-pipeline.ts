import { type ArgumentsHost, StreamableFile } from '@nestjs/common';
import type { ExceptionFilterMetadata } from '@nestjs/common/internal';
import { ExceptionsHandler } from '@nestjs/core/exceptions/exceptions-handler.js';
import { InterceptorsConsumer } from '@nestjs/core/internal';
import type { Request, Response } from 'express';
import { types } from 'node:util';
import { isObservable, map, type Observable } from 'rxjs';
import { JsonText, readPlainList } from 'durable-store/json';
import { endTurn } from '../limits/request-turns.js';
import { ApiError } from '../errors/api-error.js';
import { toApiError } from '../store/store-errors.js';
import { addDefaultHeaders } from './default-headers.js';
import { preparePipes } from './nest-pipes.js';
import { type Method, wrapMethod } from './wrap-method.js';

let isPrepared = false;

/** Wraps the methods, once for all applications of the process. */
export function prepareNest(): void {
  if (isPrepared) return;
  isPrepared = true;
  preparePipes();
  convertForInterceptors();
  prepareFilters();
}

/**
 * Interceptors get what is to be answered: a row without its ETag, and the rows of a page. The
 * headers of the answer are set before.
 */
function convertForInterceptors(): void {
  wrapMethod(
    InterceptorsConsumer,
    'intercept',
    (
      intercept: Method<
        [
          readonly unknown[],
          [Request, Response],
          unknown,
          unknown,
          () => Promise<unknown>,
          unknown,
        ],
        Promise<Observable<unknown>>
      >,
      interceptors,
      args,
      instance,
      callback,
      next,
      type,
    ) => {
      const [request, response] = args;
      const convertResult = type === 'http' ? request.state.convertResult : undefined;
      const own = convertResult ? interceptors.filter((one) => !isCache(one)) : interceptors;
      if (own.length === 0 || type !== 'http') {
        return intercept(own, args, instance, callback, next, type);
      }
      // What an interceptor answers without the handler is not converted.
      request.state.convertResult = undefined;
      const convertNext = async (): Promise<unknown> => {
        const result = await next();
        if (convertResult === undefined) return result;
        const convert = (one: unknown): unknown => toPlainAnswer(convertResult(one, response));
        return isObservable(result) ? result.pipe(map(convert)) : convert(result);
      };
      const intercepted = intercept(own, args, instance, callback, convertNext, type);
      return intercepted.then((results) => results.pipe(map(unwrapStream)));
    },
  );
}

/** A cached answer would lack its ETag and the link to the next page: see `@nestjs/cache-manager`. */
function isCache(interceptor: unknown): boolean {
  return typeof interceptor === 'object' && interceptor !== null && 'trackBy' in interceptor;
}

/** The JSON of a page becomes its rows, so that an interceptor can change them. */
function toPlainAnswer(answer: unknown): unknown {
  return answer instanceof JsonText ? readPlainList(answer.text) : answer;
}

/** Nest sends a stream that an interceptor has wrapped in an object too, but no StreamableFile. */
function unwrapStream(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result;
  const members: unknown[] = Object.values(result);
  return members.find((member) => member instanceof StreamableFile) ?? result;
}

/**
 * A filter that answers in its own way gets the required headers of the error, and the body that it
 * gives is not converted. An error of an asynchronous filter is passed on like that of another one.
 */
function prepareFilters(): void {
  wrapMethod(
    ExceptionsHandler,
    'setCustomFilters',
    (setFilters: Method<[ExceptionFilterMetadata[]], void>, filters: ExceptionFilterMetadata[]) => {
      setFilters(filters.map((filter) => ({ ...filter, func: prepareFilter(filter.func) })));
    },
  );
}

function prepareFilter(filter: ExceptionFilterMetadata['func']): ExceptionFilterMetadata['func'] {
  return (exception: unknown, host: ArgumentsHost): unknown => {
    const [request, response, next] = host.getArgs<[Request, Response, (error: unknown) => void]>();
    endTurn(response);
    request.state.convertResult = undefined;
    const answer = exception instanceof ApiError ? exception : toApiError(exception);
    if (answer !== undefined) {
      request.state.error = answer.body.error;
      addDefaultHeaders(response, ...Object.entries(answer.headers).flat());
    }
    const result: unknown = filter(exception, host);
    return types.isPromise(result) ? result.catch(next) : result;
  };
}

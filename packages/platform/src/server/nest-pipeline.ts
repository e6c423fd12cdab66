import {
  type ArgumentMetadata,
  type ArgumentsHost,
  BadRequestException,
  HttpException,
  ParseArrayPipe,
  ParseFloatPipe,
  ParseIntPipe,
  StreamableFile,
  type Type,
  ValidationPipe,
} from '@nestjs/common';
import type { ExceptionFilterMetadata } from '@nestjs/common/internal';
import { ExceptionsHandler } from '@nestjs/core/exceptions/exceptions-handler.js';
import { InterceptorsConsumer } from '@nestjs/core/internal';
import { TransformOperationExecutor } from 'class-transformer/cjs/TransformOperationExecutor.js';
import type { Request, Response } from 'express';
import { types } from 'node:util';
import { isObservable, map, type Observable } from 'rxjs';
import { Decimal, JsonNumber, JsonText, readPlainList } from 'durable-store/json';
import { BodyLines } from '../requests/body-lines.js';
import { endTurn } from '../limits/request-turns.js';
import { ApiError } from '../errors/api-error.js';
import { toApiError } from '../store/store-errors.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import { readExactNumber } from '../validation/exact-values.js';
import { isKeptByPatch } from '../validation/transform-object.js';
import { addDefaultHeaders } from './default-headers.js';
import { GeneratedAnswer } from './send-stream.js';

// This file depends on internals of Nest 12 and of class-transformer 0.5: it makes the pipes,
// interceptors and filters of modules work as Nest documents them, though requests are read and answers
// are written by this program. test/nest fails if an upgrade changes what is wrapped here.

type Method<Args extends unknown[], Result> = (...args: Args) => Result;

/**
 * Replaces a method of a class. The new one gets the original one and its arguments, and is called
 * on the same object.
 */
function wrap<Args extends unknown[], Result>(
  type: { readonly prototype: object },
  name: string,
  wrapper: (this: unknown, original: Method<Args, Result>, ...args: Args) => Result,
): void {
  const prototype = type.prototype as Record<string, Method<Args, Result>>;
  const { [name]: original } = prototype;
  if (original === undefined) throw new TypeError(`${name}() has gone in this version of Nest`);
  prototype[name] = function (...args) {
    return wrapper.call(this, (...own) => original.apply(this, own), ...args);
  };
}

let isPrepared = false;

/** Wraps the methods, once for all applications of the process. */
export function prepareNest(): void {
  if (isPrepared) return;
  isPrepared = true;
  prepareValidationPipes();
  refuseRoundedIntegers();
  convertForInterceptors();
  prepareFilters();
  keepExactValues();
}

/** The instances that pipes have made, which the next pipe checks with options of its own. */
const madeByPipes = new WeakSet<object>();

/**
 * Whether a value was checked before pipes run, and holds exact values. A pipe would make it anew,
 * without the members that class-validator does not know.
 */
function isChecked(value: unknown, { type, metatype }: ArgumentMetadata): boolean {
  // A decorator of a module may give an instance of its own.
  if (type === 'custom') return value instanceof BodyLines;
  const isInstance = metatype !== undefined && value instanceof (metatype as Type<object>);
  return isInstance && !madeByPipes.has(value);
}

function prepareValidationPipes(): void {
  wrap(
    ValidationPipe,
    'transform',
    async (
      transform: Method<[unknown, ArgumentMetadata], Promise<unknown>>,
      value,
      metadata: ArgumentMetadata,
    ) => {
      if (isChecked(value, metadata)) return value;
      let result: unknown;
      try {
        result = await transform(value, metadata);
      } catch (error) {
        throw await explainFailure(error, value, metadata);
      }
      if (isRounded(result)) throw new BadRequestException(ROUNDED);
      if (typeof result === 'object' && result !== null) madeByPipes.add(result);
      return result;
    },
  );
  wrap(
    ValidationPipe,
    'validate',
    async (validate: Method<unknown[], Promise<unknown>>, ...args) => {
      try {
        return await validate(...args);
      } catch (error) {
        return noteThrown(error);
      }
    },
  );
}

/** What the libraries have thrown while a pipe used them: not the exception that a pipe makes. */
const thrownByLibraries = new WeakSet<object>();

function noteThrown(error: unknown): never {
  thrownByLibraries.add(Object(error) as object);
  throw error;
}

/** Returns a refusal of the value in place of an error if a wrong value may be the reason for it. */
async function explainFailure(
  error: unknown,
  value: unknown,
  { metatype }: ArgumentMetadata,
): Promise<unknown> {
  const dto = CompiledDto.find(metatype);
  const isUnexpected = thrownByLibraries.has(Object(error) as object);
  if (!isUnexpected || error instanceof HttpException || dto === undefined) return error;
  const faults = await dto.checkPlain(value as object);
  return faults.length > 0 ? new BadRequestException([...faults]) : error;
}

const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number;
const ROUNDED = `Validation failed (a number from ${MIN_SAFE_INTEGER} to ${MAX_SAFE_INTEGER} is expected)`;

/** Whether a value may be another integer than a client has sent, since a double rounds it. */
function isRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** A double would round an integer beyond 2^53 - 1, and another row may have that number. */
function refuseRoundedIntegers(): void {
  for (const type of [ParseIntPipe, ParseFloatPipe, ParseArrayPipe]) {
    wrap(
      type,
      'transform',
      async function (
        transform: Method<[unknown, ArgumentMetadata], Promise<unknown>>,
        value,
        metadata: ArgumentMetadata,
      ) {
        const parsed = await transform(value, metadata);
        if (![parsed].flat().some(isRounded)) return parsed;
        const { exceptionFactory } = this as { readonly exceptionFactory: (text: string) => Error };
        throw exceptionFactory(ROUNDED);
      },
    );
  }
}

/**
 * Interceptors get what is to be answered: a row without its ETag, and the rows of a page. The
 * headers of the answer are set before.
 */
function convertForInterceptors(): void {
  wrap(
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
  wrap(
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

/** Copies of these values by their members would not be numbers and texts in JSON. */
const VALUES = [Decimal, JsonNumber, JsonText, GeneratedAnswer];

/** class-transformer would also round a number that `@Type(() => Number)` makes. */
function keepExactValues(): void {
  wrap(
    TransformOperationExecutor,
    'transform',
    (
      transform: Method<[unknown, unknown, unknown, ...unknown[]], unknown>,
      source,
      value,
      targetType,
      ...rest
    ) => {
      const isKept = VALUES.some((type) => value instanceof type);
      // No date is so far away, and the constructor of Date throws.
      const isWrongDate = targetType === Date && typeof value === 'bigint';
      if (isKept || isWrongDate) return value;
      const exact = targetType === Number ? readExactNumber(value) : undefined;
      if (exact !== undefined) return exact;
      try {
        return transform(source, value, targetType, ...rest);
      } catch (error) {
        return noteThrown(error);
      }
    },
  );
  wrap(
    TransformOperationExecutor,
    'applyCustomTransformations',
    (apply: Method<unknown[], unknown>, value, target, ...rest) =>
      isKeptByPatch(value, target) ? value : apply(value, target, ...rest),
  );
}

import {
  type ArgumentMetadata,
  type ArgumentsHost,
  ParseIntPipe,
  type PipeTransform,
  StreamableFile,
  ValidationPipe,
} from '@nestjs/common';
import { type ExceptionFilterMetadata, RouteParamtypes } from '@nestjs/common/internal';
import type { ApplicationConfig } from '@nestjs/core';
import { ExceptionsHandler } from '@nestjs/core/exceptions/exceptions-handler.js';
import { InterceptorsConsumer, PipesConsumer, PipesContextCreator } from '@nestjs/core/internal';
import { RouterExecutionContext } from '@nestjs/core/router/router-execution-context.js';
import { TransformOperationExecutor } from 'class-transformer/cjs/TransformOperationExecutor.js';
import type { Request, Response } from 'express';
import { types } from 'node:util';
import { isObservable, map, type Observable } from 'rxjs';
import { Decimal, JsonNumber, JsonText, readPlainList } from 'durable-store/json';
import { endTurn } from '../limits/request-turns.js';
import { ApiError } from '../errors/api-error.js';
import { toApiError } from '../store/store-errors.js';
import { forbidsUnknown } from '../requests/unknown-members.js';
import { addDefaultHeaders } from './default-headers.js';
import { GeneratedAnswer } from './send-stream.js';

// This file depends on internals of Nest and of class-transformer: it makes the pipes, interceptors
// and filters of modules work as Nest documents them, though requests are read and answers are
// written by this program. test/nest fails if an upgrade changes what is wrapped here.

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

/** The options of a ValidationPipe, and the members in which it keeps them. */
interface PipeOptions {
  readonly validatorOptions: Readonly<Record<string, unknown>>;
  readonly transformOptions?: Readonly<Record<string, unknown>>;
  readonly errorHttpStatusCode: number;
  readonly errorFormat: string;
  readonly exceptionFactory: unknown;
  readonly expectedType?: unknown;
  readonly isDetailedOutputDisabled?: boolean;
}

const IGNORED = [
  'dismissDefaultMessages',
  'groups',
  'skipMissingProperties',
  'skipNullProperties',
  'skipUndefinedProperties',
  'stopAtFirstError',
];
/** The options of class-transformer that would change how a DTO is read. */
const IGNORED_TRANSFORMS = [
  'enableImplicitConversion',
  'excludeExtraneousValues',
  'excludePrefixes',
  'groups',
  'ignoreDecorators',
  'strategy',
  'version',
];
const DEFAULTS = new ValidationPipe() as unknown as PipeOptions;

/**
 * @param isGlobal whether it is for all handlers
 * @throws TypeError when a ValidationPipe has an option that would have no effect, or would break
 *   the operations of plants
 */
function checkPipe(pipe: unknown, isGlobal: boolean): void {
  if (!(pipe instanceof ValidationPipe)) return;
  checkForbidden(pipe, isGlobal);
  const options = pipe as unknown as PipeOptions;
  const { validatorOptions, transformOptions = {}, exceptionFactory } = options;
  const found =
    IGNORED.find((name) => Boolean(validatorOptions[name])) ??
    IGNORED_TRANSFORMS.find((name) => Boolean(transformOptions[name]));
  const ofPipe = {
    errorHttpStatusCode: options.errorHttpStatusCode !== DEFAULTS.errorHttpStatusCode,
    errorFormat: options.errorFormat !== DEFAULTS.errorFormat,
    // The default is made anew for each pipe.
    exceptionFactory: String(exceptionFactory) !== String(DEFAULTS.exceptionFactory),
    expectedType: options.expectedType !== undefined,
    disableErrorMessages: options.isDetailedOutputDisabled === true,
  };
  const ignored = found ?? Object.entries(ofPipe).find(([, isSet]) => isSet)?.[0];
  if (ignored === undefined) return;
  throw new TypeError(
    `new ValidationPipe({ ${ignored} }): DTOs are checked before pipes run, so this would have no effect: leave it out. Unknown members of a body are ignored, and unknown parameters of a query refused`,
  );
}

/** @throws TypeError when a pipe would refuse unknown members at the wrong place, or nowhere */
function checkForbidden(pipe: ValidationPipe, isGlobal: boolean): void {
  if (!forbidsUnknown(pipe)) return;
  const { validatorOptions } = pipe as unknown as PipeOptions;
  if (validatorOptions.whitelist !== true) {
    throw new TypeError(
      'new ValidationPipe({ forbidNonWhitelisted }): this has an effect only with whitelist: true',
    );
  }
  if (!isGlobal) return;
  throw new TypeError(
    'new ValidationPipe({ forbidNonWhitelisted }) for all handlers: the operations of plants ignore unknown members. Leave the option out, and write @UsePipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true })) at the controllers or handlers that refuse them',
  );
}

/** Whether the pipes of a handler of HTTP are being collected, and not those of a gateway. */
let isOfHttp = false;

wrap(
  RouterExecutionContext,
  'create',
  (create: Method<unknown[], unknown>, ...args: unknown[]): unknown => {
    isOfHttp = true;
    try {
      return create(...args);
    } finally {
      isOfHttp = false;
    }
  },
);

wrap(
  PipesContextCreator,
  'createConcreteContext',
  function (create: Method<unknown[], unknown[]>, ...args: unknown[]): unknown[] {
    const pipes = create(...args);
    const { config } = this as { readonly config: ApplicationConfig };
    const globals: readonly unknown[] = config.getGlobalPipes();
    if (isOfHttp) {
      for (const pipe of pipes) checkPipe(pipe, globals.includes(pipe));
    }
    return pipes;
  },
);

/** The parameters of handlers that are the body, or a part of it. */
const OF_BODY = new Set<unknown>([
  RouteParamtypes.BODY,
  RouteParamtypes.RAW_BODY,
  RouteParamtypes.FILE,
  RouteParamtypes.FILES,
]);

/** What the pipes have refused, by the errors that they threw. */
const refusedParts = new WeakMap<object, 'body' | 'parameters'>();

/** Returns which part of a request a pipe has refused with this error; undefined for other errors. */
export function getRefusedPart(error: object): 'body' | 'parameters' | undefined {
  return refusedParts.get(error);
}

/**
 * A parameter that is an instance of its class has been checked, and holds exact values. Nest's
 * ValidationPipe would make it anew, without the members that class-validator does not know.
 */
wrap(
  PipesConsumer,
  'apply',
  async (
    apply: Method<[unknown, ArgumentMetadata, PipeTransform[]], Promise<unknown>>,
    value,
    metadata: ArgumentMetadata,
    pipes: PipeTransform[],
  ) => {
    const { metatype, type } = metadata;
    const isCustom = typeof type === 'string';
    const isRead = !isCustom && metatype !== undefined && value instanceof metatype;
    const own = isRead ? pipes.filter((pipe) => !(pipe instanceof ValidationPipe)) : pipes;
    try {
      return await apply(value, metadata, own);
    } catch (error) {
      const part = OF_BODY.has(type) ? 'body' : 'parameters';
      if (typeof error === 'object' && error !== null) refusedParts.set(error, part);
      throw error;
    }
  },
);

/** A double would round an integer beyond 2^53 - 1, and another row may have that number. */
wrap(
  ParseIntPipe,
  'transform',
  async function (
    transform: Method<[unknown, ArgumentMetadata], Promise<unknown>>,
    value,
    metadata: ArgumentMetadata,
  ) {
    const parsed = await transform(value, metadata);
    if (typeof parsed !== 'number' || Number.isSafeInteger(parsed)) return parsed;
    const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number;
    const { exceptionFactory } = this as { readonly exceptionFactory: (text: string) => Error };
    throw exceptionFactory(
      `Validation failed (an integer from ${MIN_SAFE_INTEGER} to ${MAX_SAFE_INTEGER} is expected)`,
    );
  },
);

/**
 * Interceptors get what is to be answered: a row without its ETag, and the rows of a page. The
 * headers of the answer are set before.
 */
wrap(
  InterceptorsConsumer,
  'intercept',
  (
    intercept: Method<
      [readonly unknown[], [Request, Response], unknown, unknown, () => Promise<unknown>, unknown],
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
wrap(
  ExceptionsHandler,
  'setCustomFilters',
  (setFilters: Method<[ExceptionFilterMetadata[]], void>, filters: ExceptionFilterMetadata[]) => {
    setFilters(filters.map((filter) => ({ ...filter, func: prepareFilter(filter.func) })));
  },
);

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

wrap(
  TransformOperationExecutor,
  'transform',
  (transform: Method<unknown[], unknown>, source: unknown, value: unknown, ...rest: unknown[]) =>
    VALUES.some((type) => value instanceof type) ? value : transform(source, value, ...rest),
);

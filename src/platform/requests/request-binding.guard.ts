import {
  type BeforeApplicationShutdown,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ApiConsumes } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { setMaxListeners } from 'node:events';
import { isPublic } from '../auth/auth.decorators.js';
import { Env } from '../config/env.js';
import { ErrorDto } from '../errors/error.dto.js';
import { compileDocumented, listAnswers } from '../validation/compiled-dto.js';
import { type BodyRule, makeJsonRule, parseObject, readBody } from './body-reader.js';
import { BodyLines } from './body-lines.js';
import { type HandlerParameters, readHandlerParameters } from './handler-parameters.js';
import { setParameters } from './read-parameters.js';
import { TakesTurns, Turns } from './turns.js';

/** Makes the body of an answer from the result of a handler, and sets its status and headers. */
type ResultConverter<Result = never> = (result: Result, response: Response) => unknown;

/**
 * Converts the results of a handler when they are sent. An interceptor could do the same, but Nest
 * wraps a handler with interceptors in observables, which takes a fifth of the time of a read.
 */
export const ConvertResult = Reflector.createDecorator<ResultConverter>();

/** Returns the body of the answer. */
export function convertResult(result: unknown, response: Response): unknown {
  const convert = response.locals.converter as ResultConverter<unknown> | undefined;
  return convert === undefined ? result : convert(result, response);
}

const BODY_RULE = Symbol('body rule');

const InjectBody = createParamDecorator(
  (_: unknown, context: ExecutionContext): unknown =>
    context.switchToHttp().getRequest<Request>().body,
);

/** Passes a handler the body as it is read by a rule: as {@link BodyLines}, or else as a Buffer. */
export function BodyByRule(rule: BodyRule): ParameterDecorator {
  return (target, method, index) => {
    if (method === undefined) throw new TypeError('A body is for parameters of handlers');
    Reflect.defineMetadata(BODY_RULE, rule, target, method);
    InjectBody()(target, method, index);
  };
}

/** Applies the decorator of a method to a handler, such as the one that has a parameter. */
export function decorateHandler(
  decorator: MethodDecorator,
  prototype: object,
  method: string | symbol = '',
): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
  if (descriptor !== undefined) decorator(prototype, method, descriptor);
}

/** The properties of a handler that are read at start. */
interface Handler {
  readonly parameters: HandlerParameters;
  /** The body that it takes; undefined if it takes none. */
  readonly bodyRule: BodyRule | undefined;
  /** The turns that `@TakesTurns()` names. */
  readonly turns: Turns | undefined;
  readonly converter: ResultConverter | undefined;
}

/** The methods whose bodies are ignored. */
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE']);

/**
 * Gives a handler its `@Query()`, `@Param()` and `@Body()` as checked instances of the classes that
 * it declares, and waits for the turn of the request. It runs after the bearer guard, and refuses a
 * bad path or query before the body is read.
 */
@Injectable()
export class RequestBindingGuard implements CanActivate, OnModuleInit, BeforeApplicationShutdown {
  private readonly handlers = new Map<unknown, Handler>();
  private readonly stop = new AbortController();

  constructor(
    private readonly reflector: Reflector,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly env: Env,
  ) {
    // Each import adds a listener.
    setMaxListeners(0, this.stop.signal);
  }

  /**
   * @throws TypeError when a handler declares a parameter that would not be checked, or two classes
   *   would be documented by one name
   */
  onModuleInit(): void {
    const documented: Type<object>[] = [ErrorDto];
    for (const { metatype } of this.discovery.getControllers()) {
      const controller = metatype as Type<object>;
      const prototype = controller.prototype as Record<string, unknown>;
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        const parameters = readHandlerParameters(controller, method);
        const handler = prototype[method] as Type<object>;
        const turns = this.reflector.get(TakesTurns, handler) as Turns | undefined;
        const converter = this.reflector.get(ConvertResult, handler) as Handler['converter'];
        const bodyRule = parameters.body
          ? makeJsonRule(parameters.body)
          : (Reflect.getMetadata(BODY_RULE, prototype, method) as BodyRule | undefined);
        this.handlers.set(handler, { parameters, bodyRule, turns, converter });
        if (bodyRule) decorateHandler(ApiConsumes(...bodyRule.mediaTypes), prototype, method);
        documented.push(...listAnswers(handler));
        if (parameters.body !== undefined) documented.push(parameters.body.type);
      }
    }
    compileDocumented(documented);
  }

  beforeApplicationShutdown(): void {
    this.stop.abort();
  }

  /**
   * @throws ApiError 40001, 40002, 40003, 40800, 41300, 41500, 50300
   * @throws RequestAbortedError
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const handler = this.handlers.get(context.getHandler());
    // Nest's own handlers have no parameters.
    if (handler === undefined) return true;
    const { query, path } = handler.parameters;
    const [request, response] = context.getArgs<[Request, Response]>();
    if (query !== undefined || path !== undefined) setParameters(request, query, path);
    response.locals.converter = handler.converter;
    const { bodyRule: rule } = handler;
    if (rule?.dto !== undefined && rule.isLines) {
      // An import may wait for its client for hours. Its batches take turns of their own.
      request.body = new BodyLines(response, rule, this.env.REQUEST_TIMEOUT_MS, this.stop.signal);
      return true;
    }
    // Controllers that extend one another share handlers, and one of them may be public.
    const isOpen = isPublic(context.getHandler(), context.getClass());
    const turns = handler.turns ?? (isOpen ? undefined : Turns.ofHandlers);
    if (rule !== undefined) return this.bindBody(response, rule, turns);
    // An unread body would stay in memory until the answer, and hide the end of the connection.
    if (WITHOUT_BODY.has(request.method)) request.resume();
    return turns?.take(response)?.then(() => true) ?? true;
  }

  private async bindBody(response: Response, rule: BodyRule, turns?: Turns): Promise<boolean> {
    const { req } = response;
    // A guard runs inside of Node's parser, which passes on the body that has arrived with the
    // headers before this continues.
    await Promise.resolve();
    const bytes = await readBody(response, rule, this.env.REQUEST_TIMEOUT_MS);
    if (rule.dto === undefined) {
      await turns?.take(response, bytes.length);
      req.body = bytes;
    } else {
      const text = bytes.toString();
      // A character of a text takes one or two bytes of memory.
      await turns?.take(response, text.length === bytes.length ? text.length : 2 * text.length);
      req.body = parseObject(text, rule.dto, 'body');
    }
    return true;
  }
}

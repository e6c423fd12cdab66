import {
  type BeforeApplicationShutdown,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/internal';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ApiConsumes } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { setMaxListeners } from 'node:events';
import { checkGateway, isPublic } from '../auth/auth.decorators.js';
import { TakesTurns, takeTurn, type TurnKind } from '../limits/request-limits.js';
import type { RequestState } from '../state/request-state.js';
import { RequestMetrics } from '../observability/metrics.js';
import { Env } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorDto } from '../errors/error.dto.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import {
  compileDocumented,
  documentBodies,
  listAnswers,
} from '../validation/documented-classes.js';
import { type BodyRule, makeJsonRule, parseObject, readBody, InputRefusal } from './body-reader.js';
import { BodyLines } from './body-lines.js';
import { type HandlerParameters, readHandlerParameters } from './handler-parameters.js';
import { setParameters } from './read-parameters.js';
import { assertExists, checkGlobalPipe, checkParameterPipe, listOwnPipes } from './own-pipes.js';

/** Makes the body of an answer from the result of a handler, and sets its status and headers. */
type ResultConverter<Result = never> = (result: Result, response: Response) => unknown;

/**
 * Converts the results of a handler when they are sent. An interceptor could do the same, but Nest
 * wraps a handler with interceptors in observables, which takes a fifth of the time of a read.
 */
export const ConvertResult = Reflector.createDecorator<ResultConverter>();

const BODY_RULE = Symbol('body rule');
/** The metadata key for the limit of the JSON body of a handler. */
export const JSON_LIMIT = Symbol('limit of a JSON body');

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
  readonly turns: TurnKind | undefined;
  readonly converter: RequestState['convertResult'];
}

/** The methods whose bodies are ignored. */
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE']);

/**
 * Gives a handler its `@Query()`, `@Param()` and `@Body()` as checked instances of the classes that
 * it declares, and waits for the turn of the request. It refuses a bad path or query before the body
 * is read.
 */
@Injectable()
export class RequestBinding implements OnModuleInit, BeforeApplicationShutdown {
  /** By their controller, since those that extend one another share handlers, but not pipes. */
  private readonly handlers = new Map<unknown, ReadonlyMap<unknown, Handler>>();
  private readonly stop = new AbortController();

  constructor(
    private readonly reflector: Reflector,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly env: Env,
    private readonly metrics: RequestMetrics,
  ) {
    // Each import adds a listener.
    setMaxListeners(0, this.stop.signal);
  }

  /**
   * @throws TypeError when a handler declares a parameter that would not be checked, an option of a pipe
   *   would have no effect, two classes would be documented by one name, or a gateway is not public
   */
  onModuleInit(): void {
    for (const { metatype, subtype, instance } of this.discovery.getProviders()) {
      if (subtype === 'pipe') checkGlobalPipe(instance);
      if (typeof metatype !== 'function' || metatype.prototype === undefined) continue;
      const type = metatype as Type<object>;
      checkGateway(type, this.scanner.getAllMethodNames(type.prototype as object));
    }
    const answers: Type<object>[] = [ErrorDto];
    const bodies: CompiledDto[] = [];
    for (const wrapper of this.discovery.getControllers()) {
      const controller = wrapper.metatype as Type<object>;
      const prototype = controller.prototype as Record<string, unknown>;
      const handlers = new Map<unknown, Handler>();
      this.handlers.set(controller, handlers);
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        const parameters = readHandlerParameters(controller, method);
        const handler = prototype[method] as Type<object>;
        const turns = this.reflector.get(TakesTurns, handler) as TurnKind | undefined;
        const converter = this.reflector.get(ConvertResult, handler) as Handler['converter'];
        const rule = parameters.body
          ? makeJsonRule(
              parameters.body,
              Reflect.getMetadata(JSON_LIMIT, handler) as number | undefined,
            )
          : (Reflect.getMetadata(BODY_RULE, prototype, method) as BodyRule | undefined);
        if (parameters.query?.dto !== undefined) {
          listOwnPipes(wrapper, method, RouteParamtypes.QUERY).forEach(checkParameterPipe);
        }
        if (parameters.path?.dto !== undefined) {
          listOwnPipes(wrapper, method, RouteParamtypes.PARAM).forEach(checkParameterPipe);
        }
        const pipes = listOwnPipes(wrapper, method, RouteParamtypes.BODY);
        if (rule?.kind === 'lines') pipes.forEach(assertExists);
        const bodyRule = rule && { ...rule, pipes };
        handlers.set(handler, { parameters, bodyRule, turns, converter });
        if (bodyRule) decorateHandler(ApiConsumes(...bodyRule.mediaTypes), prototype, method);
        answers.push(...listAnswers(handler));
        if (parameters.body !== undefined) bodies.push(parameters.body);
      }
    }
    compileDocumented([...answers, ...bodies.map(({ type }) => type)]);
    documentBodies(bodies, answers);
  }

  beforeApplicationShutdown(): void {
    this.stop.abort();
  }

  /**
   * @throws ApiError 40001, 40002, 40003, 40800, 41300, 41500, 50300
   * @throws RequestAbortedError
   */
  bind(context: ExecutionContext): boolean | Promise<boolean> {
    const handler = this.handlers.get(context.getClass())?.get(context.getHandler());
    // Nest's own handlers have no parameters, and messages of other transports are no requests.
    if (handler === undefined || context.getType() !== 'http') return true;
    const { query, path } = handler.parameters;
    const [request] = context.getArgs<[Request]>();
    const later =
      query === undefined && path === undefined ? undefined : setParameters(request, query, path);
    return later === undefined
      ? this.bindRequest(context, handler)
      : later.then(() => this.bindRequest(context, handler));
  }

  /** Takes the turn of a request with valid parameters, and reads its body. */
  private bindRequest(context: ExecutionContext, handler: Handler): boolean | Promise<boolean> {
    const [request, response] = context.getArgs<[Request, Response]>();
    request.state.convertResult = handler.converter;
    const { bodyRule: rule } = handler;
    if (rule?.kind === 'lines') {
      // An import may wait for its client for hours. Its batches take turns of their own.
      request.body = new BodyLines(
        response,
        rule,
        this.env.REQUEST_TIMEOUT_MS,
        this.stop.signal,
        this.metrics.importedLines,
      );
      return true;
    }
    // Probes and pages of the documents are answered also while all turns are taken. Controllers that
    // extend one another share handlers, and one of them may be public.
    const isOpen = isPublic(context.getHandler(), context.getClass());
    const turns = handler.turns ?? (isOpen ? undefined : 'handlers');
    if (rule !== undefined) return this.bindBody(response, rule, turns);
    // An unread body would stay in memory until the answer, and hide the end of the connection. The
    // handler of another method may read the body itself, as multer does.
    if (WITHOUT_BODY.has(request.method)) request.resume();
    const turn = turns && takeTurn(response, turns);
    return turn?.then(() => true) ?? true;
  }

  private async bindBody(response: Response, rule: BodyRule, turns?: TurnKind): Promise<boolean> {
    const { req } = response;
    // A guard runs inside of Node's parser, which passes on the body that has arrived with the
    // headers before this continues.
    await Promise.resolve();
    const bytes = await readBody(response, rule, this.env.REQUEST_TIMEOUT_MS);
    if (rule.kind === 'bytes') {
      if (turns !== undefined) await takeTurn(response, turns, bytes.length);
      req.body = bytes;
    } else {
      const text = bytes.toString();
      // A character of a text takes one or two bytes of memory.
      const memory = text.length === bytes.length ? text.length : 2 * text.length;
      if (turns !== undefined) await takeTurn(response, turns, memory);
      const parsed = parseObject(text, rule, 'body');
      const body = parsed instanceof Promise ? await parsed : parsed;
      if (body instanceof InputRefusal) throw new ApiError(body);
      req.body = body;
    }
    return true;
  }
}

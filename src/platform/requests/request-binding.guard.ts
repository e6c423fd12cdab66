import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ApiConsumes } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { IS_PUBLIC } from '../auth/auth.decorators.js';
import { Env } from '../config/env.js';
import { compileAnswers, type CompiledDto } from '../validation/compiled-dto.js';
import { RESULT_CONVERTER, type ResultConverter } from './convert-result.js';
import { type HandlerParameters, readHandlerParameters } from './handler-parameters.js';
import { JsonBody, listMediaTypes } from './json-body.js';
import { setParameters } from './read-parameters.js';
import { Turns, TURNS } from './concurrent-requests.js';

/** The properties of a handler that are read at start. */
interface Handler {
  readonly parameters: Partial<HandlerParameters>;
  readonly turns: Turns | undefined;
  readonly converter: ResultConverter<unknown> | undefined;
}

/** The methods whose bodies are ignored. */
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE']);

/** For handlers of Nest's own, such as that for unknown paths. */
const UNKNOWN: Handler = { parameters: {}, turns: undefined, converter: undefined };

/**
 * Gives a handler its `@Query()`, `@Param()` and `@Body()` as checked instances of the classes that
 * it declares, and waits for the turn of the request. It runs after the bearer guard, and refuses a
 * bad path or query before the body is read. Nest awaits the body after the last guard.
 */
@Injectable()
export class RequestBindingGuard implements CanActivate, OnModuleInit {
  private readonly handlers = new Map<unknown, Handler>();

  constructor(
    private readonly reflector: Reflector,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly env: Env,
  ) {}

  /** @throws TypeError when a handler declares a parameter that would not be checked */
  onModuleInit(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      const controller = metatype as Type<object>;
      const prototype = controller.prototype as Record<string, unknown>;
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        const parameters: Handler['parameters'] = readHandlerParameters(controller, method) ?? {};
        const handler = prototype[method] as Type<object>;
        const isPublic =
          this.reflector.getAllAndOverride(IS_PUBLIC, [handler, controller]) === true;
        const turns =
          this.reflector.get<Turns | undefined>(TURNS, handler) ??
          (isPublic ? undefined : Turns.ofHandlers);
        const converter = this.reflector.get<Handler['converter']>(RESULT_CONVERTER, handler);
        this.handlers.set(handler, { parameters, turns, converter });
        if (parameters.body !== undefined) documentMediaTypes(prototype, method, parameters.body);
        compileAnswers(handler);
      }
    }
  }

  /** @throws ApiError 40003, 50300 */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { parameters, turns, converter } = this.handlers.get(context.getHandler()) ?? UNKNOWN;
    const { body, query, path } = parameters;
    const [request, response] = context.getArgs<[Request, Response]>();
    if (query !== undefined || path !== undefined) setParameters(request, query, path);
    response.locals.converter = converter;
    if (body !== undefined) {
      request.body = new JsonBody(request, response, body, this.env.REQUEST_TIMEOUT_MS, turns);
      return true;
    }
    // An unread body would stay in memory until the answer, and hide the end of the connection.
    if (WITHOUT_BODY.has(request.method)) request.resume();
    return turns?.take(request, response)?.then(() => true) ?? true;
  }
}

function documentMediaTypes(prototype: object, method: string, body: CompiledDto): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
  if (descriptor !== undefined) {
    ApiConsumes(...listMediaTypes(body))(prototype, method, descriptor);
  }
}

import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import type { RequestCaller } from '../state/request-state.js';

export type { RequestCaller };

/** The security scheme of bearer tokens in the OpenAPI document. */
export const BEARER = 'bearer';

export const REQUIRED_SCOPES = Symbol('required scopes');

/** The handlers and controllers that are public. Reading metadata takes half a microsecond. */
const publicPlaces = new WeakSet<object>();

/**
 * Opens a route, or all routes of a controller, to requests without a token.
 *
 * @example
 * ```ts
 * @Get('opening-hours')
 * @Public()
 * read(): string {
 *   return '9 to 17';
 * }
 * ```
 */
export function Public(): MethodDecorator & ClassDecorator {
  const register = (target: object, _name?: unknown, handler?: { value?: unknown }): void => {
    publicPlaces.add((handler?.value as object | undefined) ?? target);
  };
  return applyDecorators(register, ApiExtension('x-public', true));
}

/** Whether a handler of a controller is open to requests without a token. */
export function isPublic(handler: object, controller: object): boolean {
  return publicPlaces.has(handler) || publicPlaces.has(controller);
}

/** The metadata keys of @nestjs/websockets for a gateway, and for a handler of messages. */
const GATEWAY = 'websockets:is_gateway';
const MESSAGE_HANDLER = 'websockets:message_mapping';

/** @throws TypeError when a class is a gateway whose messages would need a token */
export function checkGateway(type: Type<object>, methods: Iterable<string>): void {
  if (!Reflect.hasMetadata(GATEWAY, type)) return;
  for (const method of methods) {
    const handler = Reflect.get(type.prototype as object, method) as object;
    const takesMessages = Reflect.hasMetadata(MESSAGE_HANDLER, handler);
    if (takesMessages && !isPublic(handler, type)) throw createMessagesError(type);
  }
}

export function createMessagesError({ name }: { readonly name: string }): TypeError {
  return new TypeError(
    `${name}: messages carry no token: write @Public() here, and check the clients yourself`,
  );
}

/**
 * Requires scopes for a route, or for all routes of a controller, instead of AUTH_SCOPE and
 * AUTH_READ_SCOPE. The scopes of a route replace those of its controller. Without arguments, every
 * valid token is accepted. Only tokens of the identity provider have scopes: static tokens need
 * none. A client without a scope gets 40300.
 *
 * @param scopes all of which the token must have
 * @see {@link https://www.rfc-editor.org/rfc/rfc6750#section-3.1 RFC 6750 section 3.1}
 * @example
 * ```ts
 * @RequireScopes('sales')
 * @Controller('sales')
 * class SalesController {}
 * ```
 */
export function RequireScopes(...scopes: string[]): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(REQUIRED_SCOPES, scopes), ApiSecurity(BEARER, scopes));
}

/**
 * Returns who sends a request, for guards; undefined for a request without a token.
 *
 * @example
 * ```ts
 * @Injectable()
 * class TillGuard implements CanActivate {
 *   canActivate(context: ExecutionContext): boolean {
 *     return getCaller(context)?.client === 'till';
 *   }
 * }
 * ```
 */
export function getCaller(context: ExecutionContext): RequestCaller | undefined {
  return context.switchToHttp().getRequest<Request>().state.caller;
}

/**
 * Passes a handler the {@link RequestCaller}: the client, the user and the scopes that the token of
 * the request names. It is undefined in a public handler.
 *
 * @example
 * ```ts
 * @Post()
 * @ApiCreated(SaleDto, 'The sale was recorded')
 * create(@Body() sale: NewSaleDto, @Caller() { client }: RequestCaller): Promise<SaleDto> {
 *   return this.sales.create(sale, client);
 * }
 * ```
 */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext) =>
  getCaller(context),
);

import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';

/** The security scheme of bearer tokens in the OpenAPI document. */
export const BEARER = 'bearer';

export const IS_PUBLIC = Symbol('public');
export const REQUIRED_SCOPES = Symbol('required scopes');

/** Opens a route, or all routes of a controller, to requests without a token. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(IS_PUBLIC, true);

/**
 * Requires scopes for a route, or for all routes of a controller, in place of AUTH_SCOPE and
 * AUTH_READ_SCOPE. Without arguments, every valid token is accepted. Only tokens of the identity
 * provider have scopes: static tokens need none.
 */
export function RequireScopes(...scopes: string[]): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(REQUIRED_SCOPES, scopes), ApiSecurity(BEARER, scopes));
}

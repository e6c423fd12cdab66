import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import { BEARER } from './bearer.js';

export const REQUIRED_SCOPES = Symbol('required scopes');

/**
 * The scopes that an identity provider's token needs for a route, or for all routes of a controller,
 * in place of those that the operator has set for all; none for any good token. The service's own
 * tokens have no scopes and need none.
 */
export function RequireScopes(...scopes: string[]): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(REQUIRED_SCOPES, scopes), ApiSecurity(BEARER, scopes));
}

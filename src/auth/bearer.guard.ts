import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { AccessTokens } from './access-tokens.js';
import { IS_PUBLIC } from './public.decorator.js';

// RFC 6750 section 2.1, RFC 9110 section 11.4: the scheme is case-insensitive, spaces follow it.
const CREDENTIALS = /^bearer +(.+)$/i;

/** Lets a request through that carries an accepted bearer token, or whose route is `@Public()`. */
@Injectable()
export class BearerGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly tokens: AccessTokens,
  ) {}

  /** @throws ApiError 40100, 40101 */
  canActivate(context: ExecutionContext): boolean {
    if (this.isPublic(context)) return true;
    const { authorization } = context.switchToHttp().getRequest<Request>().headers;
    const token = CREDENTIALS.exec(authorization ?? '')?.[1];
    if (token === undefined) throw new ApiError(ErrorCatalogue.TOKEN_MISSING);
    if (!this.tokens.accept(token)) throw new ApiError(ErrorCatalogue.TOKEN_REFUSED);
    return true;
  }

  private isPublic(context: ExecutionContext): boolean {
    const places = [context.getHandler(), context.getClass()];
    return this.reflector.getAllAndOverride<boolean | undefined>(IS_PUBLIC, places) === true;
  }
}

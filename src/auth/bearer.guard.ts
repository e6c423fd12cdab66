import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';
import { AccessTokens, digestOf } from './access-tokens.js';
import { type Grant, isJwtLike, JwtTokens } from './jwt-tokens.js';
import { type HttpExchange, Limits } from './limits.js';
import { IS_PUBLIC } from './public.decorator.js';

// RFC 6750 section 2.1, RFC 9110 section 11.4: the scheme is case-insensitive, spaces follow it.
const CREDENTIALS = /^bearer +(.+)$/i;

/**
 * Lets a request through that carries an accepted bearer token and keeps to the limits, or whose
 * route is `@Public()`. A token that is known makes it wait for nothing but a limit.
 */
@Injectable()
export class BearerGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly tokens: AccessTokens,
    @Inject(JwtTokens) private readonly jwts: JwtTokens | null,
    private readonly limits: Limits,
  ) {}

  /** @throws ApiError 40100, 40101, 40300, 42900, 50300 */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (this.isPublic(context)) return true;
    const http = context.switchToHttp();
    const exchange = {
      request: http.getRequest<Request>(),
      response: http.getResponse<Response>(),
    };
    const token = CREDENTIALS.exec(exchange.request.headers.authorization ?? '')?.[1];
    if (token === undefined) return this.reject(exchange, ErrorCatalogue.TOKEN_MISSING);
    const digest = digestOf(token);
    if (this.tokens.accept(digest)) return this.allow(exchange, digest);
    const grant = this.jwts?.getCached(digest);
    if (grant !== undefined) return this.allow(exchange, digest, grant);
    return this.verify(exchange, digest, token);
  }

  /** Nobody gets a token verified who has just sent too many that are not good. */
  private async verify(exchange: HttpExchange, digest: Buffer, token: string): Promise<boolean> {
    if (this.jwts !== null && isJwtLike(token)) {
      await this.limits.failures?.check(exchange);
      const grant = await this.jwts.verify(digest, token);
      if (grant !== undefined) return this.allow(exchange, digest, grant);
    }
    return await this.reject(exchange, ErrorCatalogue.TOKEN_REFUSED);
  }

  /** @param grant what an identity provider's token allows; the service's own allow everything */
  private allow(exchange: HttpExchange, digest: Buffer, grant?: Grant): boolean | Promise<boolean> {
    const counted = this.limits.requests?.count(exchange, digest.toString('base64url'));
    return counted === undefined ? authorize(grant) : counted.then(() => authorize(grant));
  }

  private async reject(exchange: HttpExchange, entry: ErrorEntry): Promise<never> {
    // First, since it also bounds what is verified: it must count what the other refuses.
    await this.limits.failures?.count(exchange);
    await this.limits.requests?.count(exchange);
    throw new ApiError(entry);
  }

  private isPublic(context: ExecutionContext): boolean {
    const places = [context.getHandler(), context.getClass()];
    return this.reflector.getAllAndOverride<boolean | undefined>(IS_PUBLIC, places) === true;
  }
}

/** RFC 6750 section 3.1: the challenge tells which scopes are needed. */
function authorize(grant: Grant | undefined): boolean {
  if (grant?.requiredScopes === undefined) return true;
  const challenge = ErrorCatalogue.INSUFFICIENT_SCOPE.headers['WWW-Authenticate'];
  throw new ApiError(ErrorCatalogue.INSUFFICIENT_SCOPE, undefined, {
    'WWW-Authenticate': `${challenge}, scope="${grant.requiredScopes}"`,
  });
}

import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Env } from '../config/env.js';
import { splitScopes } from '../config/jwks-url.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { REQUIRED_SCOPES } from './require-scopes.decorator.js';

/** RFC 9110 section 9.2.1: what only reads. */
const READING = new Set(['GET', 'HEAD']);

/** What a good token allows. */
export interface Grant {
  /** Whether it is one of the service's own that may only read. */
  readonly isReadOnly?: boolean;
  /** Of an identity provider's token. */
  readonly scopes?: ReadonlySet<unknown>;
}

/** Which scopes a request needs. */
@Injectable()
export class Scopes {
  private readonly toWrite: readonly string[];
  private readonly toRead: readonly string[];

  constructor(
    private readonly reflector: Reflector,
    { AUTH_SCOPE, AUTH_READ_SCOPE }: Env,
  ) {
    this.toWrite = splitScopes(AUTH_SCOPE);
    this.toRead = splitScopes(AUTH_READ_SCOPE === '' ? AUTH_SCOPE : AUTH_READ_SCOPE);
  }

  /** @throws ApiError 40300 when the token does not allow the request */
  check({ isReadOnly, scopes }: Grant, context: ExecutionContext): void {
    const isReading = READING.has(context.switchToHttp().getRequest<Request>().method);
    if (isReadOnly === true && !isReading) throw insufficient('The access token may only read');
    if (scopes === undefined) return;
    const needed = this.ofRoute(context) ?? (isReading ? this.toRead : this.toWrite);
    if (needed.every((scope) => scopes.has(scope))) return;
    // RFC 6750 section 3.1: the challenge names the scopes that are needed.
    throw insufficient(undefined, `, scope="${needed.join(' ')}"`);
  }

  private ofRoute(context: ExecutionContext): readonly string[] | undefined {
    const places = [context.getHandler(), context.getClass()];
    return this.reflector.getAllAndOverride<readonly string[] | undefined>(REQUIRED_SCOPES, places);
  }
}

function insufficient(message?: string, scope = ''): ApiError {
  const challenge = ErrorCatalogue.INSUFFICIENT_SCOPE.headers['WWW-Authenticate'];
  return new ApiError(ErrorCatalogue.INSUFFICIENT_SCOPE, message, {
    'WWW-Authenticate': challenge + scope,
  });
}

import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';
import { type AuthFailure, RequestMetrics } from '../observability/metrics.js';
import { makeChallenge, Service } from '../config/service.js';
import { digestToken } from '../config/setting-formats.js';
import { AccessTokens } from '../auth/access-tokens.js';
import { isPublic, refuseMessages } from '../auth/auth.decorators.js';
import { toAddressKey } from '../limits/client.js';
import { JwtTokens } from '../auth/jwt-tokens.js';
import { holdRequest } from '../limits/request-memory.js';
import { RateLimits } from '../limits/rate-limits.js';
import { type Grant, Permissions } from '../auth/permissions.js';
import { RequestBinding } from './request-binding.js';

// RFC 6750 section 2.1, RFC 9110 section 11.4: the scheme is case-insensitive, spaces follow it.
const CREDENTIALS = /^bearer +(.+)$/i;
/** How long a header is at most whose credentials are kept for the next request, in characters. */
const MAX_REMEMBERED = 2_048;

interface Credentials {
  readonly token: string;
  readonly digest: Buffer;
  /** The access of a static token; undefined for others. Static tokens never change at run time. */
  readonly grant: Grant | undefined;
}

/**
 * Allows requests to `@Public()` routes, and requests with an accepted bearer token that are within
 * the rate limits. Then it lets the handler have its parameters and its body: as one guard, so that
 * no order of guards or modules reads a body before the token is checked. Known tokens are checked
 * synchronously.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6750 RFC 6750}
 * @example
 * ```ts
 * @Module({ providers: [{ provide: APP_GUARD, useClass: BearerGuard }] })
 * class ApplicationModule {}
 * ```
 */
@Injectable()
export class BearerGuard implements CanActivate {
  private readonly logger = new Logger('Auth');

  /** The last credentials of each connection, by the value of their header, unless it is long. */
  private readonly lastCredentials = new WeakMap<Socket, ReadonlyMap<string, Credentials>>();

  constructor(
    private readonly tokens: AccessTokens,
    private readonly jwts: JwtTokens,
    private readonly limits: RateLimits,
    private readonly permissions: Permissions,
    private readonly binding: RequestBinding,
    private readonly service: Service,
    private readonly metrics: RequestMetrics,
  ) {}

  /** @throws ApiError 40100, 40101, 40300, 42900, 50300, and what {@link RequestBinding.bind} throws */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (isPublic(context.getHandler(), context.getClass())) return this.binding.bind(context);
    if (context.getType() !== 'http') throw refuseMessages(context.getClass());
    const credentials = this.getCredentials(context);
    if (credentials === undefined) {
      return this.reject(context, ErrorCatalogue.TOKEN_MISSING, 'missing');
    }
    const grant = credentials.grant ?? this.jwts.getCached(credentials.digest);
    if (grant === undefined) return this.verify(context, credentials);
    return this.allow(context, grant);
  }

  /**
   * Most requests on a connection have the same header, and computing its digest takes longer than
   * all other checks. Clients may share a connection through a proxy, and the time of a comparison
   * must not reveal how much of another client's token matches. A Map compares texts only when
   * their keyed hashes are equal.
   */
  private getCredentials(context: ExecutionContext): Credentials | undefined {
    const [{ socket, headers }] = context.getArgs<[Request]>();
    const { authorization = '' } = headers;
    const known = this.lastCredentials.get(socket)?.get(authorization);
    if (known !== undefined) return known;
    const token = CREDENTIALS.exec(authorization)?.[1];
    if (token === undefined) return undefined;
    const digest = digestToken(token);
    const credentials = { token, digest, grant: this.tokens.find(digest) };
    if (authorization.length <= MAX_REMEMBERED) {
      this.lastCredentials.set(socket, new Map([[authorization, credentials]]));
    }
    return credentials;
  }

  /** Verifies a JWT that is not cached, unless its address is over the limit of failures. */
  private async verify(
    context: ExecutionContext,
    { digest, token }: Credentials,
  ): Promise<boolean> {
    let failure: AuthFailure = 'unknown';
    if (this.jwts.mayVerify(token)) {
      const [request, response] = context.getArgs<[Request, Response]>();
      this.limits.failures?.check(response, toAddressKey(request.ip));
      const verified = await holdRequest(request, this.jwts.verify(digest, token));
      if (typeof verified === 'object') return this.allow(context, verified);
      failure = verified;
    }
    return this.reject(context, ErrorCatalogue.TOKEN_REFUSED, failure);
  }

  private allow(context: ExecutionContext, grant: Grant): boolean | Promise<boolean> {
    const [request, response] = context.getArgs<[Request, Response]>();
    const { client, caller } = grant;
    request.state.client = client;
    request.state.caller = caller;
    this.limits.requests?.count(response, client ?? toAddressKey(request.ip));
    this.permissions.check(grant, context);
    return this.binding.bind(context);
  }

  private reject(context: ExecutionContext, entry: ErrorEntry, failure: AuthFailure): never {
    const [request, response] = context.getArgs<[Request, Response]>();
    const address = toAddressKey(request.ip);
    this.metrics.authFailures.inc({ reason: failure });
    // The client must not learn the reason, which would help to guess tokens; the operator may.
    this.logger.debug({
      requestId: request.state.id,
      reason: failure,
      msg: 'Token refused',
    });
    // Count failures first: this limit also caps verification, even for requests the other refuses.
    this.limits.failures?.count(response, address);
    this.limits.requests?.count(response, address);
    // No error code when the request carries no credentials.
    const attributes = failure === 'missing' ? [] : ['error="invalid_token"'];
    throw new ApiError(entry, undefined, makeChallenge(this.service, ...attributes));
  }
}

import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';
import { type AuthFailure, RequestMetrics } from '../observability/metrics.js';
import { makeChallenge, Service } from '../config/service.js';
import { digestToken } from '../config/setting-formats.js';
import { AccessTokens } from '../auth/access-tokens.js';
import { createMessagesError, isPublic } from '../auth/auth.decorators.js';
import { toAddressKey } from '../limits/client.js';
import { JwtTokens } from '../auth/jwt-tokens.js';
import { holdRequest } from '../limits/request-memory.js';
import { RateLimits } from '../limits/rate-limits.js';
import { type Grant, Permissions } from '../auth/permissions.js';
import { RequestBinding } from './request-binding.js';

// RFC 6750 section 2.1, RFC 9110 section 11.4: the scheme is case-insensitive, spaces follow it.
const CREDENTIALS = /^bearer +(.+)$/i;
/** The longest header whose credentials are kept for the next request, in characters. */
const MAX_REMEMBERED_LENGTH = 2_048;

interface Credentials {
  readonly token: string;
  readonly digest: Buffer;
  /** The access of a static token; undefined for others. Static tokens never change at run time. */
  readonly grant: Grant | undefined;
}

/**
 * Allows requests to `@Public()` routes, and requests with an accepted bearer token that are within
 * the rate limits. Then it binds the handler's parameters and its body. One guard does both, so that
 * no body is read before the token is checked, in whatever order modules add their guards. Known
 * tokens are checked synchronously.
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

  /**
   * The last credentials of each connection, by their header. A map has one entry: it compares texts
   * only when their keyed hashes are equal. Clients may share a connection through a proxy, and the time
   * of a plain comparison would reveal how much of another client's token matches.
   */
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

  /**
   * @throws ApiError 40100 without a token, 40101 for a refused one, 40300 without the permission,
   *   42900 beyond a limit, 50300 while tokens cannot be verified, and what
   *   {@link RequestBinding.bind} throws
   * @throws TypeError for a message of a gateway or a microservice, which has no token
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (isPublic(context.getHandler(), context.getClass())) return this.binding.bind(context);
    if (context.getType() !== 'http') throw createMessagesError(context.getClass());
    const credentials = this.getCredentials(context);
    if (credentials === undefined) {
      return this.reject(context, ErrorCatalogue.TOKEN_MISSING, 'missing');
    }
    const grant = credentials.grant ?? this.jwts.getCached(credentials.digest);
    if (grant === undefined) return this.verify(context, credentials);
    return this.admit(context, grant);
  }

  /**
   * Returns the credentials of a request; undefined without any. Most requests on a connection have the
   * same header, and computing the digest of its token takes longer than all other checks.
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
    if (authorization.length <= MAX_REMEMBERED_LENGTH) {
      this.lastCredentials.set(socket, new Map([[authorization, credentials]]));
    }
    return credentials;
  }

  /** Verifies a JWT that is not cached, unless the client's address has failed too often. */
  private async verify(
    context: ExecutionContext,
    { digest, token }: Credentials,
  ): Promise<boolean> {
    if (!this.jwts.mayVerify(token)) {
      return this.reject(context, ErrorCatalogue.TOKEN_REFUSED, 'unknown');
    }
    const [request, response] = context.getArgs<[Request, Response]>();
    this.limits.failures?.check(response, toAddressKey(request.ip));
    const verified = await holdRequest(request, this.jwts.verify(digest, token));
    const isGrant = typeof verified === 'object';
    if (!isGrant) return this.reject(context, ErrorCatalogue.TOKEN_REFUSED, verified);
    return this.admit(context, verified);
  }

  /** Lets a request with a good token through, within its limit and its permissions. */
  private admit(context: ExecutionContext, grant: Grant): boolean | Promise<boolean> {
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
    // Failures are counted first: the limit of requests may throw, and the count of failures also limits
    // how many tokens are verified.
    this.limits.failures?.count(response, address);
    this.limits.requests?.count(response, address);
    // No error code when the request carries no credentials.
    const attributes = failure === 'missing' ? [] : ['error="invalid_token"'];
    throw new ApiError(entry, undefined, makeChallenge(this.service, ...attributes));
  }
}

import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';
import { traceHeaders } from '../observability/trace-context.js';
import { type AccessLevel, AccessTokens, digestOf } from './access-tokens.js';
import { isJwtLike, JwtTokens } from './jwt-tokens.js';
import { type HttpExchange, Limits } from './rate-limits.js';
import { IS_PUBLIC } from './public.decorator.js';
import { type Grant, Scopes } from './scopes.js';

// RFC 6750 section 2.1, RFC 9110 section 11.4: the scheme is case-insensitive, spaces follow it.
const CREDENTIALS = /^bearer +(.+)$/i;

interface Credentials {
  readonly token: string;
  readonly digest: Buffer;
  /** What it allows when it is one of the service's own, which are the same until it ends. */
  readonly level: AccessLevel | undefined;
}

/** What one of the service's own tokens for reading allows. */
const READ_ONLY: Grant = { isReadOnly: true };

/**
 * Lets a request through that carries an accepted bearer token and keeps to the limits, or whose
 * route is `@Public()`. Known tokens are checked synchronously.
 */
@Injectable()
export class BearerGuard implements CanActivate {
  /** Those that came last on each connection, by their header. */
  private readonly lastCredentials = new WeakMap<Socket, ReadonlyMap<string, Credentials>>();

  /** What the reflector has said, which takes a microsecond to ask. */
  private readonly handlers = new Map<unknown, { controller: unknown; isPublic: boolean }>();

  constructor(
    private readonly reflector: Reflector,
    private readonly tokens: AccessTokens,
    @Inject(JwtTokens) private readonly jwts: JwtTokens | null,
    private readonly limits: Limits,
    private readonly scopes: Scopes,
  ) {}

  /** @throws ApiError 40100, 40101, 40300, 42900, 50300 */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (this.isPublic(context)) return true;
    const exchange = exchangeOf(context);
    const credentials = this.credentialsOf(exchange.request);
    if (credentials === undefined) return this.reject(exchange, ErrorCatalogue.TOKEN_MISSING);
    const { token, digest, level } = credentials;
    const grant = level === 'read' ? READ_ONLY : this.jwts?.getCached(digest);
    if (level === undefined && grant === undefined) return this.verify(context, digest, token);
    return this.allow(context, digest, level === 'all' ? undefined : grant);
  }

  /**
   * Most requests on a connection have the same header, whose digest takes longer to compute than all
   * that follows. On one that a proxy shares among clients, the time must not say how much of a token
   * is another's: a map compares texts only when their keyed hashes are equal.
   */
  private credentialsOf({ socket, headers }: Request): Credentials | undefined {
    const { authorization = '' } = headers;
    const known = this.lastCredentials.get(socket)?.get(authorization);
    if (known !== undefined) return known;
    const token = CREDENTIALS.exec(authorization)?.[1];
    if (token === undefined) return undefined;
    const digest = digestOf(token);
    const credentials = { token, digest, level: this.tokens.levelOf(digest) };
    this.lastCredentials.set(socket, new Map([[authorization, credentials]]));
    return credentials;
  }

  /** Stops verifying tokens from an address that is over its limit of failures. */
  private async verify(context: ExecutionContext, digest: Buffer, token: string): Promise<boolean> {
    const exchange = exchangeOf(context);
    if (this.jwts !== null && isJwtLike(token)) {
      await this.limits.failures?.check(exchange);
      const grant = await this.jwts.verify(digest, token, traceHeaders(exchange.request.headers));
      if (grant !== undefined) return this.allow(context, digest, grant);
    }
    return await this.reject(exchange, ErrorCatalogue.TOKEN_REFUSED);
  }

  /** @param grant what the token allows; undefined for everything */
  private allow(
    context: ExecutionContext,
    digest: Buffer,
    grant: Grant | undefined,
  ): boolean | Promise<boolean> {
    const authorize = (): true => {
      if (grant !== undefined) this.scopes.check(grant, context);
      return true;
    };
    const counted = this.limits.requests?.count(exchangeOf(context), digest.toString('base64url'));
    return counted === undefined ? authorize() : counted.then(authorize);
  }

  private async reject(exchange: HttpExchange, entry: ErrorEntry): Promise<never> {
    // First, since it also bounds what is verified: it must count what the other refuses.
    await this.limits.failures?.count(exchange);
    await this.limits.requests?.count(exchange);
    throw new ApiError(entry);
  }

  private isPublic(context: ExecutionContext): boolean {
    const handler = context.getHandler();
    const controller = context.getClass();
    const known = this.handlers.get(handler);
    // A controller that extends another has its handlers too.
    if (known?.controller === controller) return known.isPublic;
    const places = [handler, controller];
    const isPublic = this.reflector.getAllAndOverride<boolean | undefined>(IS_PUBLIC, places);
    this.handlers.set(handler, { controller, isPublic: isPublic === true });
    return isPublic === true;
  }
}

function exchangeOf(context: ExecutionContext): HttpExchange {
  const [request, response] = context.getArgs<[Request, Response]>();
  return { request, response };
}

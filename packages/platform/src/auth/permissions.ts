import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Env } from '../config/env.js';
import { makeChallenge, Service } from '../config/service.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { RequestCaller } from '../state/request-state.js';
import { REQUIRED_SCOPES } from './auth.decorators.js';

/** The methods that only read (RFC 9110 section 9.2.1). */
const READING = new Set(['GET', 'HEAD']);

const READ_ONLY =
  'This access token may only read: ask the operator of the service for one that may write';

/** The access that a valid token grants. */
export interface Grant {
  /** Whether the token is a static one that may only read. */
  readonly isReadOnly?: boolean;
  /**
   * The scopes of a token of the identity provider, each between two spaces; undefined for static
   * tokens, which need none.
   */
  readonly scopes?: string;
  /** The owner of the token. */
  readonly caller: RequestCaller;
  /**
   * Identifies a static token, or the client and the user that the identity provider issued the
   * token to.
   */
  readonly client?: string | undefined;
}

/** Checks that a token allows a request. */
@Injectable()
export class Permissions {
  private readonly toWrite: readonly string[];
  private readonly toRead: readonly string[];

  constructor(
    private readonly reflector: Reflector,
    private readonly service: Service,
    { AUTH_SCOPE = [], AUTH_READ_SCOPE = AUTH_SCOPE }: Env,
  ) {
    this.toWrite = AUTH_SCOPE;
    this.toRead = AUTH_READ_SCOPE;
  }

  /** @throws ApiError 40300 when the token does not allow the request */
  check({ isReadOnly, scopes }: Grant, context: ExecutionContext): void {
    if (isReadOnly === false) return;
    const [{ method }] = context.getArgs<[Request]>();
    const isReading = READING.has(method);
    if (isReadOnly === true && !isReading) {
      throw this.refuse(READ_ONLY);
    }
    if (scopes === undefined) return;
    const targets = [context.getHandler(), context.getClass()];
    const needed =
      this.reflector.getAllAndOverride<readonly string[] | undefined>(REQUIRED_SCOPES, targets) ??
      (isReading ? this.toRead : this.toWrite);
    if (needed.every((scope) => scopes.includes(` ${scope} `))) return;
    // RFC 6750 section 3.1: the challenge names the scopes that are needed.
    throw this.refuse(undefined, `scope="${needed.join(' ')}"`);
  }

  private refuse(message: string | undefined, ...attributes: readonly string[]): ApiError {
    const challenge = makeChallenge(this.service, 'error="insufficient_scope"', ...attributes);
    return new ApiError(ErrorCatalogue.INSUFFICIENT_SCOPE, message, challenge);
  }
}

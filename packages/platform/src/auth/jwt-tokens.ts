import { Injectable, Logger } from '@nestjs/common';
import {
  errors,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from 'jose';
import { hash } from 'node:crypto';
import { ApiError } from '../errors/api-error.js';
import type { AuthFailure } from '../observability/metrics.js';
import { Env } from '../config/env.js';
import { ProviderKeys, providerUnavailable } from './provider-keys.js';
import type { Grant } from './permissions.js';

/** Asymmetric signatures only: neither `none` nor a shared secret. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** RFC 9068 section 2.1; many providers issue access tokens as plain JWTs (RFC 7519 section 5.1). */
const TOKEN_TYPES: readonly unknown[] = ['at+jwt', 'application/at+jwt', 'jwt', undefined];
/** RFC 7515 section 7.1: header, payload and signature in base64url. */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;
export const MAX_JWT_LENGTH = 8_192;

/** How far the clocks of the provider and of this system may differ, in seconds. */
export const CLOCK_TOLERANCE_SECONDS = 5;
/** How long a verified token is accepted without being verified again, in milliseconds. */
export const VERIFIED_TTL_MS = 5 * 60_000;
/** How many characters the cached tokens have in all. The oldest are removed for new ones. */
const MAX_CACHED_LENGTH = 8 * 1024 * 1024;
/** The latest time of a Date (ECMA-262 section 21.4.1.1), in seconds since 1970. */
const LAST_MOMENT = 8_640_000_000_000;

interface CachedGrant extends Grant {
  /** The end of its `exp` and the tolerance, as a time of `Date.now()`. */
  readonly expiry: number;
  /** As a time of `performance.now()`, since the system clock may be set. */
  readonly cachedUntil: number;
  /** The length of the token, which bounds the memory of the rest. */
  readonly length: number;
}

/** The last character of a signature has unused bits. Only one spelling of a token is accepted. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

/** The access tokens of an identity provider: verifies them, and caches those that it accepts. */
@Injectable()
export class JwtTokens {
  private readonly logger = new Logger(JwtTokens.name);
  /** Undefined when no identity provider is configured. */
  private readonly keys: ProviderKeys | undefined;
  private readonly rules: JWTVerifyOptions;
  private readonly cached = new Map<string, CachedGrant>();
  private cachedLength = 0;

  constructor({ AUTH_JWKS_URL, AUTH_ISSUER = '', AUTH_AUDIENCE = '' }: Env) {
    this.keys = AUTH_JWKS_URL && new ProviderKeys(AUTH_JWKS_URL);
    this.rules = {
      algorithms: ALGORITHMS,
      issuer: AUTH_ISSUER,
      audience: AUTH_AUDIENCE,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp'],
    };
  }

  /** Whether there is a provider that the token may come from. */
  mayVerify(token: string): boolean {
    if (this.keys === undefined || token.length > MAX_JWT_LENGTH) return false;
    return COMPACT_JWS.test(token) && isCanonical(token);
  }

  /** Looks up what a token allows; undefined when it is not cached. */
  getCached(digest: Buffer): Grant | undefined {
    const key = toCacheKey(digest);
    const grant = this.cached.get(key);
    if (grant === undefined) return undefined;
    if (Date.now() < grant.expiry && performance.now() < grant.cachedUntil) return grant;
    this.forget(key);
    return undefined;
  }

  /**
   * Verifies a token and returns what it allows, or why it is not accepted.
   *
   * @throws ApiError 50300 the provider's keys cannot be fetched
   */
  async verify(digest: Buffer, token: string): Promise<Grant | AuthFailure> {
    try {
      const { payload, protectedHeader } = await this.verifySignatureAndClaims(token);
      if (!hasAcceptedType(protectedHeader)) return 'type';
      // Only a JWE can be compressed (RFC 7516 section 4.1.3).
      if ('zip' in protectedHeader) return 'malformed';
      // A JSON number may lie beyond all dates: such a token would never expire.
      if ((payload.exp ?? 0) > LAST_MOMENT) return 'malformed';
      // RFC 7800: such a token is valid only with a proof of possession, which is not checked here.
      if (payload.cnf !== undefined) return 'bound-to-key';
      return this.cache(toCacheKey(digest), token, payload);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (error instanceof errors.JOSEError) return classifyRefusal(error);
      this.logger.error(error);
      throw providerUnavailable(1);
    }
  }

  private async verifySignatureAndClaims(token: string): Promise<JWTVerifyResult> {
    if (this.keys === undefined) throw new errors.JWKSNoMatchingKey();
    try {
      return await jwtVerify(token, this.keys.find, this.rules);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const key of error) {
        try {
          return await jwtVerify(token, key, this.rules);
        } catch (failure) {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        }
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  private cache(key: string, token: string, payload: JWTPayload): Grant {
    // RFC 9068 section 2.2; `azp` is of OpenID Connect.
    const client = findText(payload.client_id, payload.azp);
    const user = findText(payload.sub);
    const scopes = readScopes(payload);
    const grant = {
      expiry: ((payload.exp ?? 0) + CLOCK_TOLERANCE_SECONDS) * 1_000,
      cachedUntil: performance.now() + VERIFIED_TTL_MS,
      length: token.length,
      scopes,
      caller: { client, user, scopes: scopes.split(' ').filter(Boolean) },
      // The users of one application have the same client. The claims may be long.
      client:
        client || user ? hash('sha256', JSON.stringify([client, user]), 'base64url') : undefined,
    };
    this.forget(key);
    this.cached.set(key, grant);
    this.cachedLength += grant.length;
    for (const oldest of this.cached.keys()) {
      if (this.cachedLength <= MAX_CACHED_LENGTH) break;
      this.forget(oldest);
    }
    return grant;
  }

  private forget(key: string): void {
    this.cachedLength -= this.cached.get(key)?.length ?? 0;
    this.cached.delete(key);
  }
}

/** The reasons of failures, by the claim that is not valid, or by the code of jose's error. */
const FAILURES: Readonly<Record<string, AuthFailure>> = {
  iss: 'issuer',
  aud: 'audience',
  nbf: 'not-yet-valid',
  ERR_JWT_EXPIRED: 'expired',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown-key',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm',
};

function classifyRefusal(error: errors.JOSEError): AuthFailure {
  const key = error instanceof errors.JWTClaimValidationFailed ? error.claim : error.code;
  return FAILURES[key] ?? 'malformed';
}

function findText(...claims: unknown[]): string | undefined {
  return claims.find((claim) => typeof claim === 'string');
}

function hasAcceptedType({ typ }: JWTHeaderParameters): boolean {
  const type: unknown = typ;
  return TOKEN_TYPES.includes(typeof type === 'string' ? type.toLowerCase() : type);
}

/**
 * Reads the scopes from `scope` (RFC 9068 section 2.2.3) and `scp`, which some providers use, also
 * as a list. A Set of them would take several times the memory of the token.
 */
function readScopes({ scope, scp }: JWTPayload): string {
  const scopes = [scope, scp].flatMap((claim): unknown[] => {
    if (typeof claim === 'string') return claim.split(' ');
    return Array.isArray(claim) ? claim : [];
  });
  const isScope = (one: unknown): boolean => typeof one === 'string' && !one.includes(' ');
  return ` ${scopes.filter(isScope).join(' ')} `;
}

/** Makes a short key: latin1 has one character for each byte. */
function toCacheKey(digest: Buffer): string {
  return digest.toString('latin1');
}

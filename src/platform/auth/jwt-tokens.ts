import { Logger } from '@nestjs/common';
import { errors, type JWTPayload, jwtVerify, type JWTVerifyResult } from 'jose';
import { ApiError } from '../errors/api-error.js';
import type { TraceHeaders } from '../observability/trace-context.js';
import type { JwtRules } from './jwt-rules.js';
import { providerKeys, providerUnavailable } from './provider-keys.js';
import type { Grant } from './scopes.js';

/** Signatures only, and none with a secret that both sides know. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** RFC 9068 section 2.1; many providers issue access tokens as plain JWTs (RFC 7519 section 5.1). */
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt', undefined];
/** RFC 7515 section 7.1: header, payload and signature in base64url. */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const MAX_LENGTH = 8_192;

/** How far the clocks of the provider and of this system may differ, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 5;
/** How long a verified token is accepted without being verified again, in milliseconds. */
const CACHE_TTL_MS = 5 * 60_000;
/** How many verified tokens are cached. */
const MAX_CACHED = 10_000;
/** How many tokens may be under verification, or wait for the provider's keys. */
const MAX_PENDING = 1_000;

interface CachedGrant extends Grant {
  /** Its `exp`, by `Date.now()`. */
  readonly expiry: number;
  /** By `performance.now()`: the system's clock may be set. */
  readonly cachedUntil: number;
}

export function isJwtLike(token: string): boolean {
  return token.length <= MAX_LENGTH && COMPACT_JWS.test(token) && isCanonical(token);
}

/** The last character of a signature has unused bits: one token must not be spelt in many ways. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

/** The access tokens of an identity provider: verifies them, and caches those that it accepts. */
export class JwtTokens {
  private readonly logger = new Logger(JwtTokens.name);
  private readonly keys: ReturnType<typeof providerKeys>;
  private readonly cached = new Map<string, CachedGrant>();
  private readonly pending = new Map<string, Promise<Grant | undefined>>();

  constructor(private readonly rules: JwtRules) {
    this.keys = providerKeys(rules.jwksUrl);
  }

  /** What a cached token allows; undefined when it is not cached. */
  getCached(digest: Buffer): Grant | undefined {
    const id = idOf(digest);
    const grant = this.cached.get(id);
    if (grant === undefined) return undefined;
    if (Date.now() < grant.expiry && performance.now() < grant.cachedUntil) return grant;
    this.cached.delete(id);
    return undefined;
  }

  /**
   * What a token allows; undefined when it is not accepted.
   *
   * @param trace the trace that a fetch of the provider's keys belongs to
   * @throws ApiError 50300 the provider's keys cannot be fetched
   */
  async verify(
    digest: Buffer,
    token: string,
    trace: TraceHeaders = {},
  ): Promise<Grant | undefined> {
    const id = idOf(digest);
    const other = this.pending.get(id);
    if (other !== undefined) return await other;
    if (this.pending.size >= MAX_PENDING) {
      throw providerUnavailable(1);
    }
    const verification = this.check(id, token, trace).finally(() => this.pending.delete(id));
    this.pending.set(id, verification);
    return await verification;
  }

  private async check(id: string, token: string, trace: TraceHeaders): Promise<Grant | undefined> {
    try {
      const { payload, protectedHeader } = await this.verifySignatureAndClaims(token, trace);
      if (!TYPES.includes(protectedHeader.typ?.toLowerCase())) return undefined;
      // RFC 7800: it is valid only with a proof of possession of a key, which is not checked here.
      if (payload.cnf !== undefined) return undefined;
      return this.cache(id, payload);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (error instanceof errors.JOSEError) return undefined;
      this.logger.error(error);
      throw providerUnavailable(1);
    }
  }

  private async verifySignatureAndClaims(
    token: string,
    trace: TraceHeaders,
  ): Promise<JWTVerifyResult> {
    const { issuer, audience } = this.rules;
    const options = {
      algorithms: ALGORITHMS,
      issuer,
      audience,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp'],
    };
    try {
      return await jwtVerify(token, this.keys(trace), options);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const key of error) {
        try {
          return await jwtVerify(token, key, options);
        } catch (failure) {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        }
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  private cache(id: string, payload: JWTPayload): Grant {
    const grant = {
      expiry: ((payload.exp ?? 0) + CLOCK_TOLERANCE_SECONDS) * 1_000,
      cachedUntil: performance.now() + CACHE_TTL_MS,
      scopes: scopesOf(payload),
    };
    if (this.cached.size >= MAX_CACHED) {
      const [oldest = ''] = this.cached.keys();
      this.cached.delete(oldest);
    }
    this.cached.set(id, grant);
    return grant;
  }
}

/** RFC 9068 section 2.2.3 has them in `scope`; some providers use `scp`, or a list. */
function scopesOf({ scope, scp }: JWTPayload): Set<unknown> {
  return new Set(
    [scope, scp].flatMap((claim): unknown[] => {
      if (typeof claim === 'string') return claim.split(' ');
      return Array.isArray(claim) ? claim : [];
    }),
  );
}

/** A key for maps that is cheap to make and to compare. */
function idOf(digest: Buffer): string {
  return digest.toString('latin1');
}

import { Logger } from '@nestjs/common';
import { createRemoteJWKSet, customFetch, errors, type JWK, type JWTVerifyGetKey } from 'jose';
import { createPublicKey } from 'node:crypto';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';

/** How long fetched keys are used, in milliseconds. */
export const MAX_KEY_AGE_MS = 5 * 60_000;
/** After a fetch, unknown key ids trigger no further fetch for this long, in milliseconds. */
const COOLDOWN_MS = 30_000;
/** How long the provider may take to answer, in milliseconds. */
export const KEYS_TIMEOUT_MS = 5_000;
/** The least time between two fetches, even if the first one fails, in milliseconds. */
export const FETCH_SPACING_MS = 10_000;
/** The shortest RSA key that may sign (RFC 7518 section 3.3), in bits. */
export const MIN_RSA_BITS = 2_048;

/** The public keys of an identity provider, fetched when a token needs them. */
export class ProviderKeys {
  private readonly logger = new Logger('IdentityProvider');
  private readonly keys: ReturnType<typeof createRemoteJWKSet>;
  // Times are from `performance.now()`.
  private nextFetchAt = 0;
  private nextLogAt = 0;

  constructor(url: URL) {
    this.keys = createRemoteJWKSet(url, {
      cacheMaxAge: MAX_KEY_AGE_MS,
      cooldownDuration: COOLDOWN_MS,
      timeoutDuration: KEYS_TIMEOUT_MS,
      [customFetch]: (href, options) => this.fetch(href, options),
    });
  }

  /**
   * Finds the key of a token. Waits for the provider only if the key is unknown or outdated.
   *
   * @throws JOSEError the token names none of the keys, or more than one
   * @throws ApiError 50300 the provider fails, which is not the token's fault
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.keys(header, token);
    } catch (error) {
      // If the provider has no keys at all, the token is not at fault.
      if (isAboutToken(error) && this.keys.jwks()?.keys.length !== 0) throw error;
      const now = performance.now();
      if (now >= this.nextLogAt) {
        this.logger.error(error);
        this.nextLogAt = now + FETCH_SPACING_MS;
      }
      throw providerUnavailable(Math.max(1, Math.ceil((this.nextFetchAt - now) / 1_000)));
    }
  };

  private async fetch(href: string, options: RequestInit): Promise<Response> {
    const now = performance.now();
    if (now < this.nextFetchAt) throw new Error('The last attempt has just failed');
    this.nextFetchAt = now + FETCH_SPACING_MS;
    const response = await fetch(href, options);
    if (response.status !== 200) return response;
    const { keys, ...others } = (await response.json()) as { keys?: unknown };
    // jose refuses a set of keys that has no list of them.
    return Response.json({ ...others, keys: Array.isArray(keys) ? keys.filter(isUsable) : keys });
  }
}

/**
 * Whether a published key can verify signatures. jose throws the same errors for a key that cannot
 * as for a provider that fails, and would not try the next key.
 */
function isUsable(key: JWK): boolean {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: { ...key }, format: 'jwk' });
    const { modulusLength = MIN_RSA_BITS } = asymmetricKeyDetails ?? {};
    // The private part of a key that is published has leaked.
    return modulusLength >= MIN_RSA_BITS && key.d === undefined;
  } catch {
    return false;
  }
}

/** @param seconds after which a retry makes sense */
export function providerUnavailable(seconds: number): ApiError {
  return new ApiError(
    ErrorCatalogue.UNAVAILABLE,
    'The identity provider is unavailable, so the token cannot be checked; retry in a moment',
    { 'Retry-After': String(seconds) },
  );
}

function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

import { Logger } from '@nestjs/common';
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';

/** How long keys are used without asking for them anew, in milliseconds. */
const MAX_AGE = 5 * 60_000;
/** How long after the keys have come a token with an unknown key makes nobody ask, in milliseconds. */
const COOLDOWN = 30_000;
/** How long the provider may take to answer, in milliseconds. */
const TIMEOUT = 5_000;
/** The least time between two fetches, above all after one that failed, in milliseconds. */
const FETCH_SPACING = 10_000;

const logger = new Logger('IdentityProvider');

/**
 * The public keys of an identity provider, fetched when a token needs them. Whatever keeps them
 * from coming is the provider's fault and not the token's.
 *
 * @throws JOSEError the token names none of the keys, or more than one
 * @throws ApiError 50300
 */
export function providerKeys(url: URL): JWTVerifyGetKey {
  let nextFetch = 0;
  let nextLog = 0;
  const keys = createRemoteJWKSet(url, {
    cacheMaxAge: MAX_AGE,
    cooldownDuration: COOLDOWN,
    timeoutDuration: TIMEOUT,
    // jose does not cool down after a fetch that failed.
    [customFetch]: (href, options) => {
      const now = Date.now();
      if (now < nextFetch) return Promise.reject(new Error('The last attempt has just failed'));
      nextFetch = now + FETCH_SPACING;
      return fetch(href, options);
    },
  });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      // A provider without any keys has a fault of its own.
      if (isAboutToken(error) && keys.jwks()?.keys.length !== 0) throw error;
      const seconds = Math.max(1, Math.ceil((nextFetch - Date.now()) / 1_000));
      if (Date.now() >= nextLog) {
        logger.error(error);
        nextLog = Date.now() + FETCH_SPACING;
      }
      throw providerUnavailable(seconds);
    }
  };
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

import { Logger } from '@nestjs/common';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTVerifyGetKey,
} from 'jose';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { TraceHeaders } from '../observability/trace-context.js';

/** How long keys are used without fetching them anew, in milliseconds. */
const MAX_AGE_MS = 5 * 60_000;
/** After a fetch, unknown key ids trigger no other for this long, in milliseconds. */
const COOLDOWN_MS = 30_000;
/** How long the provider may take to answer, in milliseconds. */
const TIMEOUT_MS = 5_000;
/** The least time between two fetches, above all after one that failed, in milliseconds. */
const FETCH_SPACING_MS = 10_000;

const logger = new Logger('IdentityProvider');

/** Finds the key of a token, for a request of this trace, which a fetch then belongs to. */
type FindKey = (trace: TraceHeaders) => JWTVerifyGetKey;

/**
 * The public keys of an identity provider, fetched when a token needs them. A fetch that fails is
 * the provider's fault and not the token's.
 *
 * @throws JOSEError the token names none of the keys, or more than one
 * @throws ApiError 50300
 */
export function providerKeys(url: URL): FindKey {
  let nextFetch = 0;
  let nextLog = 0;
  const keys = cachedKeys(url, (href, options) => {
    const now = performance.now();
    if (now < nextFetch) return Promise.reject(new Error('The last attempt has just failed'));
    nextFetch = now + FETCH_SPACING_MS;
    return fetch(href, options);
  });
  return (trace) => async (header, token) => {
    try {
      return await keys.find(trace)(header, token);
    } catch (error) {
      // Where the provider has no keys at all, the token is not at fault.
      if (isAboutToken(error) && keys.count() !== 0) throw error;
      const now = performance.now();
      if (now >= nextLog) {
        logger.error(error);
        nextLog = now + FETCH_SPACING_MS;
      }
      throw providerUnavailable(Math.max(1, Math.ceil((nextFetch - now) / 1_000)));
    }
  };
}

/** The keys in jose's cache, whose age is measured by a monotonic clock. */
function cachedKeys(
  url: URL,
  fetchKeys: FetchImplementation,
): { find: FindKey; count: () => number | undefined } {
  /** The trace that the next fetch belongs to. */
  let cause: TraceHeaders = {};
  // jose would measure their age by the system's clock, which may be set; so it fetches only once.
  const keys = createRemoteJWKSet(url, {
    cacheMaxAge: Infinity,
    cooldownDuration: Infinity,
    timeoutDuration: TIMEOUT_MS,
    [customFetch]: (href, options) => {
      const headers = new Headers({ ...Object.fromEntries(options.headers), ...cause });
      return fetchKeys(href, { ...options, headers });
    },
  });
  let fetchedAt = -Infinity;
  const reloadIfOlder = async (age: number, trace: TraceHeaders): Promise<boolean> => {
    if (performance.now() - fetchedAt < age) return false;
    cause = trace;
    await keys.reload();
    fetchedAt = performance.now();
    return true;
  };
  const find: FindKey = (trace) => async (header, token) => {
    await reloadIfOlder(MAX_AGE_MS, trace);
    try {
      return await keys(header, token);
    } catch (error) {
      const isUnknown = error instanceof errors.JWKSNoMatchingKey;
      if (!isUnknown || !(await reloadIfOlder(COOLDOWN_MS, trace))) throw error;
      return await keys(header, token);
    }
  };
  return { find, count: () => keys.jwks()?.keys.length };
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

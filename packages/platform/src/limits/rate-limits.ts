import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { hash } from 'node:crypto';
import { Env } from '../config/env.js';
import type { Rate } from '../config/setting-formats.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';

/** How many keys are counted at a time. Beyond it, a new window begins. */
const MAX_KEYS = 100_000;

/** The limits of this process; every process counts for itself. */
@Injectable()
export class RateLimits {
  /** Counts by token, or by address without a valid token. Undefined when it is off. */
  readonly requests: RateLimit | undefined;
  /** Counts requests without a valid token, by address. Undefined when it is off. */
  readonly failures: RateLimit | undefined;

  constructor(env: Env) {
    const { RATE_LIMIT: rate, AUTH_FAILURE_LIMIT: failureRate } = env;
    if (rate !== 'off') this.requests = new RateLimit('requests', rate);
    if (failureRate !== 'off')
      this.failures = new RateLimit('authentication-failures', failureRate);
  }
}

/** Counts requests by key, in windows that are common to all keys. */
export class RateLimit {
  /** How many requests of each key have come in this window. */
  private readonly counts = new Map<string, number>();
  /** When the window ends, by `performance.now()`, since the system clock may be set. */
  private end = 0;

  /** @param name its name in the headers `RateLimit` and `RateLimit-Policy` */
  constructor(
    private readonly name: string,
    private readonly rate: Rate,
  ) {}

  /**
   * Counts a request, and sets the headers of its answer that say how many more are allowed
   * (draft-ietf-httpapi-ratelimit-headers-08).
   *
   * @param key identifies the client
   * @throws ApiError 42900
   */
  count(response: Response, key: string): void {
    const { name, rate } = this;
    const requests = this.getCount(key) + 1;
    this.counts.set(key, requests);
    const remaining = Math.max(0, rate.limit - requests);
    const seconds = Math.max(0, Math.ceil((this.end - performance.now()) / 1_000));
    response.append('RateLimit', `"${name}"; r=${remaining}; t=${seconds}`);
    const partition = btoa(hash('sha256', key).slice(0, 12));
    const policy = `q=${rate.limit}; w=${rate.windowMs / 1_000}; pk=:${partition}:`;
    response.append('RateLimit-Policy', `"${name}"; ${policy}`);
    if (requests > rate.limit) {
      throw new ApiError(ErrorCatalogue.TOO_MANY_REQUESTS, undefined, {
        'Retry-After': String(seconds),
      });
    }
  }

  /** @throws ApiError 42900 when the next request of this key would be one too many */
  check(response: Response, key: string): void {
    if (this.getCount(key) >= this.rate.limit) this.count(response, key);
  }

  private getCount(key: string): number {
    const { counts, rate } = this;
    const now = performance.now();
    const isFull = counts.size >= MAX_KEYS && !counts.has(key);
    if (now >= this.end || isFull) {
      counts.clear();
      this.end = now + rate.windowMs;
    }
    return counts.get(key) ?? 0;
  }
}

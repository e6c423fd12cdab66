import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { hash } from 'node:crypto';
import { Env } from '../config/env.js';
import { parseRate, type Rate } from '../config/setting-formats.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';

/** How many keys are counted at a time. Beyond it, the key whose window ends first is forgotten. */
const MAX_KEYS = 100_000;

/** The limits of this process; every process counts for itself. */
@Injectable()
export class RateLimits {
  /** Counts by token, or by address without a valid token. Undefined when it is off. */
  readonly requests: RateLimit | undefined;
  /** Counts requests without a valid token, by address. Undefined when it is off. */
  readonly failures: RateLimit | undefined;

  constructor(env: Env) {
    this.requests = createRateLimit('requests', env.RATE_LIMIT);
    this.failures = createRateLimit('authentication-failures', env.AUTH_FAILURE_LIMIT);
  }
}

function createRateLimit(name: string, setting: string): RateLimit | undefined {
  const rate = parseRate(setting);
  return rate === undefined || rate === 'off' ? undefined : new RateLimit(name, rate);
}

interface Window {
  requests: number;
  /** As a time of `performance.now()`, since the system clock may be set. */
  readonly end: number;
}

/** Counts requests by key, each key in windows of one length that begin with its first request. */
export class RateLimit {
  /** Sorted by their begin, and therefore also by their end. */
  private readonly windows = new Map<string, Window>();

  /** @param name its name in the headers `RateLimit` and `RateLimit-Policy` */
  constructor(
    private readonly name: string,
    private readonly rate: Rate,
  ) {}

  /**
   * Counts a request, and sets the headers of its answer that say how many more are allowed
   * (draft-ietf-httpapi-ratelimit-headers-08).
   *
   * @param key stands for the client
   * @throws ApiError 42900
   */
  count(response: Response, key: string): void {
    const { name, rate } = this;
    const window = this.getWindow(key) ?? this.beginWindow(key);
    window.requests++;
    const remaining = Math.max(0, rate.limit - window.requests);
    const seconds = Math.max(0, Math.ceil((window.end - performance.now()) / 1_000));
    response.append('RateLimit', `"${name}"; r=${remaining}; t=${seconds}`);
    const partition = btoa(hash('sha256', key).slice(0, 12));
    const policy = `q=${rate.limit}; w=${rate.windowMs / 1_000}; pk=:${partition}:`;
    response.append('RateLimit-Policy', `"${name}"; ${policy}`);
    if (window.requests > rate.limit) {
      throw new ApiError(ErrorCatalogue.TOO_MANY_REQUESTS, undefined, {
        'Retry-After': String(seconds),
      });
    }
  }

  /** @throws ApiError 42900 when the next request of this key would be one too many */
  check(response: Response, key: string): void {
    if ((this.getWindow(key)?.requests ?? 0) >= this.rate.limit) this.count(response, key);
  }

  private getWindow(key: string): Window | undefined {
    const window = this.windows.get(key);
    return window !== undefined && performance.now() < window.end ? window : undefined;
  }

  private beginWindow(key: string): Window {
    const { windows } = this;
    const now = performance.now();
    // set() alone would keep the old place of the key.
    windows.delete(key);
    for (const [oldest, { end }] of windows) {
      if (now < end && windows.size < MAX_KEYS) break;
      windows.delete(oldest);
    }
    const window = { requests: 0, end: now + this.rate.windowMs };
    windows.set(key, window);
    return window;
  }
}

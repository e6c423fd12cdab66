import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import {
  type ClientRateLimitInfo,
  ipKeyGenerator,
  rateLimit,
  type RateLimitRequestHandler,
  type Store,
} from 'express-rate-limit';
import { Env } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { parseRate, type Rate } from '../config/rate.js';

/** How many keys are counted at a time; beyond it the one whose window ends first is forgotten. */
const MAX_KEYS = 100_000;
/** The longest address that is a key; longer ones come only from a trusted proxy that is misconfigured. */
const MAX_KEY_LENGTH = 64;

/** A request, and the answer to it. */
export interface HttpExchange {
  readonly request: Request;
  readonly response: Response;
}

/** The limits of this process; every process counts for itself. */
@Injectable()
export class Limits {
  /** By token, or by address where there is no good one. Undefined when it is off. */
  readonly requests: Limiter | undefined;
  /** Requests without a good token, by address. Undefined when it is off. */
  readonly failures: Limiter | undefined;

  constructor(env: Env) {
    this.requests = limiter('requests', env.RATE_LIMIT);
    this.failures = limiter('authentication-failures', env.AUTH_FAILURE_LIMIT);
  }
}

function limiter(name: string, setting: string): Limiter | undefined {
  const rate = parseRate(setting);
  return rate === undefined || rate === 'off' ? undefined : new Limiter(name, rate);
}

/** Counts requests by token or address, and refuses those beyond a rate. */
class Limiter {
  private readonly store: WindowStore;
  private readonly keys = new WeakMap<Request, string>();
  private readonly middleware: RateLimitRequestHandler;

  /** @param name its name in the headers `RateLimit` and `RateLimit-Policy` */
  constructor(
    name: string,
    private readonly rate: Rate,
  ) {
    this.store = new WindowStore(rate.window);
    this.middleware = rateLimit({
      identifier: name,
      limit: rate.limit,
      windowMs: rate.window,
      standardHeaders: 'draft-8',
      legacyHeaders: false,
      store: this.store,
      keyGenerator: (request) => this.keys.get(request) ?? addressOf(request),
      handler: (_, response, next) => next(tooManyRequests(response)),
      // It would warn on the console, which is not the log.
      validate: false,
    });
  }

  /**
   * Counts a request, and sets the headers of its answer that say how many more are allowed.
   *
   * @param key stands for the client; its address by default
   * @throws ApiError 42900
   */
  count({ request, response }: HttpExchange, key?: string): Promise<void> {
    if (key !== undefined) this.keys.set(request, key);
    return new Promise((resolve, reject) => {
      void this.middleware(request, response, (error?: unknown) => {
        if (error instanceof Error) reject(error);
        else resolve();
      });
    });
  }

  /** @throws ApiError 42900 when the next request of this address would be one too many */
  async check(exchange: HttpExchange): Promise<void> {
    const counted = this.store.get(addressOf(exchange.request));
    if (counted !== undefined && counted.totalHits >= this.rate.limit) await this.count(exchange);
  }
}

interface Window {
  hits: number;
  /** By `performance.now()`. */
  readonly end: number;
}

/**
 * Counts requests by key, each in windows of one length that begin with the first request. Unlike the
 * library's own store it does not follow the system's clock, which may be set, and is bounded.
 */
export class WindowStore implements Store {
  readonly localKeys = true;
  /** In the order in which the windows began, which is that of their ends. */
  private readonly windows = new Map<string, Window>();

  /** @param windowMs the length of a window in milliseconds */
  constructor(private readonly windowMs: number) {}

  increment(key: string): ClientRateLimitInfo {
    const window = this.current(key) ?? this.begin(key);
    window.hits++;
    return infoOf(window);
  }

  get(key: string): ClientRateLimitInfo | undefined {
    const window = this.current(key);
    return window && infoOf(window);
  }

  decrement(key: string): void {
    const window = this.current(key);
    if (window !== undefined) window.hits--;
  }

  resetKey(key: string): void {
    this.windows.delete(key);
  }

  private current(key: string): Window | undefined {
    const window = this.windows.get(key);
    return window !== undefined && performance.now() < window.end ? window : undefined;
  }

  private begin(key: string): Window {
    const now = performance.now();
    // A key keeps its place in the map unless it is deleted first.
    this.windows.delete(key);
    for (const [oldest, { end }] of this.windows) {
      if (now < end && this.windows.size < MAX_KEYS) break;
      this.windows.delete(oldest);
    }
    const window = { hits: 0, end: now + this.windowMs };
    this.windows.set(key, window);
    return window;
  }
}

/** The library wants the end as a time of the system's clock, and subtracts that clock from it. */
function infoOf({ hits, end }: Window): ClientRateLimitInfo {
  return { totalHits: hits, resetTime: new Date(Date.now() + end - performance.now()) };
}

/** The address of the client; of IPv6 the /56, since one client may have all its addresses. */
function addressOf({ ip = '' }: Request): string {
  return ipKeyGenerator(ip).slice(0, MAX_KEY_LENGTH);
}

function tooManyRequests(response: Response): ApiError {
  return new ApiError(ErrorCatalogue.TOO_MANY_REQUESTS, undefined, {
    'Retry-After': String(response.getHeader('Retry-After')),
  });
}

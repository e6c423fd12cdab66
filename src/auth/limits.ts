import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Request, Response } from 'express';
import {
  ipKeyGenerator,
  MemoryStore,
  rateLimit,
  type RateLimitRequestHandler,
} from 'express-rate-limit';
import { Env } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { parseRate, type Rate } from '../config/rate.js';

/** How many senders are counted at a time; beyond it the one counted first is forgotten. */
const MAX_KEYS = 100_000;
/** The longest name of a sender; it is longer only when a trusted proxy hands on nonsense. */
const MAX_KEY_LENGTH = 64;

/** A request, and the answer to it. */
export interface HttpExchange {
  readonly request: Request;
  readonly response: Response;
}

/** The limits of this process; every process counts for itself. */
@Injectable()
export class Limits implements OnModuleDestroy {
  /** By token, or by address where there is no good one. Undefined when it is off. */
  readonly requests: Limiter | undefined;
  /** Requests without a good token, by address. Undefined when it is off. */
  readonly failures: Limiter | undefined;

  constructor(env: Env) {
    this.requests = limiter('requests', env.RATE_LIMIT);
    this.failures = limiter('authentication-failures', env.AUTH_FAILURE_LIMIT);
  }

  onModuleDestroy(): void {
    this.requests?.stop();
    this.failures?.stop();
  }
}

function limiter(name: string, setting: string): Limiter | undefined {
  const rate = parseRate(setting);
  return rate === undefined || rate === 'off' ? undefined : new Limiter(name, rate);
}

/** Counts requests by what stands for their sender, and refuses those beyond a rate. */
class Limiter {
  private readonly store = new BoundedStore();
  private readonly senders = new WeakMap<Request, string>();
  private readonly middleware: RateLimitRequestHandler;

  /** @param name what the headers `RateLimit` and `RateLimit-Policy` call it */
  constructor(
    name: string,
    private readonly rate: Rate,
  ) {
    this.middleware = rateLimit({
      identifier: name,
      limit: rate.limit,
      windowMs: rate.window,
      standardHeaders: 'draft-8',
      legacyHeaders: false,
      store: this.store,
      keyGenerator: (request) => this.senders.get(request) ?? addressOf(request),
      handler: (_, response, next) => next(tooManyRequests(response)),
      // It would complain on the console, which is not the log.
      validate: false,
    });
  }

  /**
   * Counts a request, and says in the headers of its answer how many more there may be.
   *
   * @param sender the address of the client, unless given
   * @throws ApiError 42900
   */
  count({ request, response }: HttpExchange, sender?: string): Promise<void> {
    if (sender !== undefined) this.senders.set(request, sender);
    return new Promise((resolve, reject) => {
      void this.middleware(request, response, (error?: unknown) => {
        if (error instanceof Error) reject(error);
        else resolve();
      });
    });
  }

  /** @throws ApiError 42900 when the next request of this address would be one too many */
  async check(exchange: HttpExchange): Promise<void> {
    const counted = await this.store.get(addressOf(exchange.request));
    if (counted !== undefined && counted.totalHits >= this.rate.limit) await this.count(exchange);
  }

  stop(): void {
    this.store.shutdown();
  }
}

/** A store that invented addresses cannot fill without end. */
export class BoundedStore extends MemoryStore {
  override async increment(key: string): ReturnType<MemoryStore['increment']> {
    const counted = await super.increment(key);
    if (this.current.size > MAX_KEYS) {
      const [first = ''] = this.current.keys();
      this.current.delete(first);
    }
    return counted;
  }
}

/** Of IPv6 the /56, since one client may have all the addresses of it. */
function addressOf({ ip = '' }: Request): string {
  return ipKeyGenerator(ip).slice(0, MAX_KEY_LENGTH);
}

function tooManyRequests(response: Response): ApiError {
  return new ApiError(ErrorCatalogue.TOO_MANY_REQUESTS, undefined, {
    'Retry-After': String(response.getHeader('Retry-After')),
  });
}

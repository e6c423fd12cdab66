import {
  type BeforeApplicationShutdown,
  Controller,
  Get,
  Inject,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Public } from '../auth/auth.decorators.js';
import type { StoreDataSource } from 'durable-store';
import { Env } from '../config/env.js';
import { getProbeTimeoutMs } from '../config/time-limits.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';

/** How long a result is cached, in milliseconds, so that frequent probes cause no more work. */
const CACHE_TTL_MS = 1_000;

/** The answer of a probe. It has no details, since it needs no token. */
const HEALTHY = { status: 'ok' };

@Public()
@ApiExcludeController()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController implements BeforeApplicationShutdown {
  private isStopping = false;
  private isWritable = Promise.resolve(false);
  /** When it was checked, by `performance.now()`; infinite during a check, which all probes share. */
  private checkedAt = -Infinity;

  constructor(
    @Inject(DataSource) private readonly store: StoreDataSource,
    private readonly env: Env,
  ) {}

  beforeApplicationShutdown(): void {
    this.isStopping = true;
  }

  /** Answers while the event loop runs. */
  @Get('live')
  live(): typeof HEALTHY {
    return HEALTHY;
  }

  /**
   * Answers 200 while the store is writable and the program is not stopping.
   *
   * @throws ApiError 50300
   */
  @Get('ready')
  async ready(): Promise<typeof HEALTHY> {
    if (performance.now() - this.checkedAt >= CACHE_TTL_MS) this.isWritable = this.probeWrite();
    const timeout = sleep(getProbeTimeoutMs(this.env.STORE_TIMEOUT_MS), false, { ref: false });
    const isWritable = await Promise.race([this.isWritable, timeout]);
    if (this.isStopping || !isWritable) throw new ApiError(ErrorCatalogue.UNAVAILABLE);
    return HEALTHY;
  }

  private async probeWrite(): Promise<boolean> {
    this.checkedAt = Infinity;
    try {
      await this.store.probeWrite();
      return true;
    } catch (error) {
      this.store.failures.report(error as Error);
      return false;
    } finally {
      this.checkedAt = performance.now();
    }
  }
}

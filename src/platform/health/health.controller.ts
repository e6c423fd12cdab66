import { type BeforeApplicationShutdown, Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { setTimeout as sleep } from 'node:timers/promises';
import { Public } from '../auth/auth.decorators.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { StoreProbe } from './store-probe.js';

/** How long the store may take to answer, in milliseconds. */
const STORE_TIMEOUT_MS = 2_000;

/** The answer of a probe. It has no details, since it needs no token. */
interface Health {
  readonly status: 'ok';
}

@Public()
@ApiExcludeController()
@Controller('health')
export class HealthController implements BeforeApplicationShutdown {
  private isStopping = false;

  constructor(private readonly store: StoreProbe) {}

  beforeApplicationShutdown(): void {
    this.isStopping = true;
  }

  /** Answers while the event loop runs. */
  @Get('live')
  live(): Health {
    return { status: 'ok' };
  }

  /**
   * Answers 200 while the store is writable and the program is not stopping.
   *
   * @throws ApiError 50300
   */
  @Get('ready')
  async ready(): Promise<Health> {
    const isWritable = await Promise.race([
      this.store.isWritable(),
      sleep(STORE_TIMEOUT_MS, false, { ref: false }),
    ]);
    if (this.isStopping || !isWritable) throw new ApiError(ErrorCatalogue.UNAVAILABLE);
    return { status: 'ok' };
  }
}

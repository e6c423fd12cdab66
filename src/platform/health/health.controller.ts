import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { Public } from '../auth/auth.decorators.js';
import { StoreProbe } from './store-probe.js';

/** How long the store may take to answer, in milliseconds. */
const STORE_TIMEOUT_MS = 2_000;

/** The answer of a probe: it says no more, since it needs no token. */
interface Health {
  readonly status: 'ok';
}

@Public()
@ApiExcludeController()
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly store: StoreProbe,
  ) {}

  /** The event loop runs. */
  @Get('live')
  live(): Health {
    return { status: 'ok' };
  }

  /**
   * The store takes creates, and the program is not about to stop.
   *
   * @throws ServiceUnavailableException, which is answered 50300
   */
  @Get('ready')
  async ready(): Promise<Health> {
    const store = this.indicators
      .check('store')
      .attempt(() => this.store.check())
      .withTimeout(STORE_TIMEOUT_MS);
    await this.health.check([store]);
    return { status: 'ok' };
  }
}

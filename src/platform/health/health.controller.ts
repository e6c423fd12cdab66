import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { Public } from '../auth/auth.decorators.js';
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
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly store: StoreProbe,
  ) {}

  /** Answers while the event loop runs. */
  @Get('live')
  live(): Health {
    return { status: 'ok' };
  }

  /**
   * Answers 200 while the store is writable and the program is not stopping.
   *
   * @throws ServiceUnavailableException, for which the client gets 50300
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

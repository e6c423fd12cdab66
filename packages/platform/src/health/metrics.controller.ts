import { Controller, Get, Header, type INestApplication, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { InjectDataSource } from '@nestjs/typeorm';
import { register, type Registry } from 'prom-client';
import { RequireScopes } from '../auth/auth.decorators.js';
import type { StoreDataSource } from 'durable-store';
import { RequestMetrics } from '../observability/metrics.js';
import { TakesTurns } from '../limits/request-limits.js';

@RequireScopes()
@ApiExcludeController()
@Controller({ path: 'metrics', version: VERSION_NEUTRAL })
export class MetricsController {
  /** The metrics of the application and its store. */
  readonly registries: readonly Registry[];

  constructor(metrics: RequestMetrics, @InjectDataSource() store: StoreDataSource) {
    this.registries = [metrics.registry, store.metrics.registry];
  }

  /** Answers with all metrics in the text format of Prometheus. */
  @Get()
  @TakesTurns('scrapes')
  @Header('Content-Type', register.contentType)
  async metrics(): Promise<string> {
    const texts = [register, ...this.registries].map((registry) => registry.metrics());
    return (await Promise.all(texts)).join('\n');
  }
}

/**
 * Lists the metrics of an application and its store, without the metrics of the process: the name
 * and the description of each.
 *
 * @example
 * ```ts
 * for (const [name, help] of await listMetrics(app.nest)) console.log(`${name}: ${help}`);
 * ```
 */
export async function listMetrics(app: INestApplication): Promise<string[][]> {
  const { registries } = app.get(MetricsController);
  const metrics = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
  return metrics.flat().map(({ name, help }) => [name, help]);
}

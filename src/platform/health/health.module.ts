import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';
import { StoreProbe } from './store-probe.js';

@Module({
  // StoreProbe logs failures itself.
  imports: [TerminusModule.forRoot({ logger: false })],
  providers: [StoreProbe],
  controllers: [HealthController, MetricsController],
})
export class HealthModule {}

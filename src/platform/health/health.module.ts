import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';
import { StoreProbe } from './store-probe.js';

@Module({ providers: [StoreProbe], controllers: [HealthController, MetricsController] })
export class HealthModule {}

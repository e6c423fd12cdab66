import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { APP_FILTER, APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { AuthModule } from './platform/auth/auth.module.js';
import { BearerGuard } from './platform/auth/bearer.guard.js';
import { ConfigModule, loadEnv } from './platform/config/env.js';
import { DatabaseModule } from './platform/database/data-source/database.module.js';
import { DocsModule } from './platform/openapi/docs.module.js';
import { RequestBindingGuard } from './platform/requests/request-binding.guard.js';
import { ErrorFilter } from './platform/server/error.filter.js';
import { HealthModule } from './platform/health/health.module.js';
import { Connections } from './platform/server/connections.js';
import { LoggingModule } from './platform/observability/pino-logger.js';
import { ChangesModule } from './modules/changes/changes.module.js';
import { PlantsModule } from './modules/plants/plants.module.js';
import { schema } from './schema.js';

@Module({
  imports: [
    DiscoveryModule,
    ScheduleModule.forRoot(),
    ConfigModule,
    LoggingModule,
    AuthModule,
    DatabaseModule.forRoot(schema),
    PlantsModule,
    DocsModule,
    HealthModule,
  ],
  providers: [
    Connections,
    { provide: APP_GUARD, useClass: BearerGuard },
    { provide: APP_GUARD, useClass: RequestBindingGuard },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {
  /**
   * The application with the modules that settings switch on, and with the given features.
   *
   * @throws EnvError
   */
  static create(features: readonly Type[]): DynamicModule {
    const isFeedOn = loadEnv().CHANGE_FEED === 'on';
    return { module: AppModule, imports: [...(isFeedOn ? [ChangesModule] : []), ...features] };
  }
}

import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { AuthModule } from './auth/auth.module.js';
import { BearerGuard } from './auth/bearer.guard.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { DocsModule } from './docs/docs.module.js';
import { ArgumentsGuard } from './http/arguments.guard.js';
import { ErrorFilter } from './http/error.filter.js';
import { HealthModule } from './health/health.module.js';
import { Connections } from './http/connections.js';
import { RouteNotFoundFilter } from './http/route-not-found.filter.js';
import { LoggingModule } from './logging/logging.module.js';
import { PlantsModule } from './plants/plants.module.js';
import { schema } from './schema.js';

@Module({
  imports: [
    DiscoveryModule,
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
    ErrorFilter,
    { provide: APP_GUARD, useClass: BearerGuard },
    { provide: APP_GUARD, useClass: ArgumentsGuard },
    { provide: APP_FILTER, useExisting: ErrorFilter },
    { provide: APP_FILTER, useClass: RouteNotFoundFilter },
  ],
})
export class AppModule {}

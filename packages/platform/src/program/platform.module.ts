import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import {
  APP_FILTER,
  APP_GUARD,
  DiscoveryModule,
  DiscoveryService,
  ModulesContainer,
} from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { AuthModule } from '../auth/auth.module.js';
import { ConfigModule } from '../config/env.js';
import type { Service } from '../config/service.js';
import { DatabaseModule } from '../store/database.module.js';
import type { Schema, StoreDataSource } from 'durable-store';
import { HealthModule } from '../health/health.module.js';
import { RequestMetrics } from '../observability/metrics.js';
import { LoggingModule } from '../observability/pino-logger.js';
import { DocsModule } from '../openapi/docs.module.js';
import { BearerGuard } from '../requests/bearer.guard.js';
import { RequestBinding } from '../requests/request-binding.js';
import { setConstraintErrors } from '../rest/constraint-errors.decorator.js';
import { Connections } from '../server/connections.js';
import { ErrorFilter } from '../server/error.filter.js';
import { assertStoreNotServed } from '../server/static-files.js';

/** The name under which Nest's GraphQLModule provides its options. */
const GRAPHQL_OPTIONS = 'GqlModuleOptions';

/**
 * What a service needs besides its own modules: the store, the log, tokens, limits and documents.
 *
 * @example
 * ```ts
 * @Module({ imports: [PlatformModule.forRoot(service, schema), PlantsModule] })
 * class ApplicationModule {}
 * ```
 */
@Global()
@Module({
  imports: [
    DiscoveryModule,
    ScheduleModule.forRoot(),
    LoggingModule,
    AuthModule,
    DocsModule,
    HealthModule,
  ],
  providers: [Connections, RequestBinding, RequestMetrics],
  exports: [AuthModule, RequestBinding, RequestMetrics],
})
export class PlatformModule implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly modules: ModulesContainer,
    @Inject(DataSource) private readonly store: StoreDataSource,
  ) {}

  static forRoot(service: Service, schema: Schema): DynamicModule {
    return {
      module: PlatformModule,
      imports: [ConfigModule.forRoot(service), DatabaseModule.forRoot(schema)],
    };
  }

  /**
   * @throws TypeError without the guard that checks tokens, or the filter that answers errors, with a
   *   second ScheduleModule or with GraphQL, or with an error for a constraint that cannot be
   *   recognized
   */
  onModuleInit(): void {
    const modules = [...this.modules.values()];
    // Nest's GraphQLModule cannot be imported here, since its package need not be installed.
    if (modules.some(({ providers }) => providers.has(GRAPHQL_OPTIONS))) {
      throw new TypeError(
        'GraphQLModule: GraphQL is not supported, since its schema would be answered without a token: leave the module out, and write controllers',
      );
    }
    if (modules.filter(({ metatype }) => metatype === ScheduleModule).length > 1) {
      throw new TypeError(
        'ScheduleModule.forRoot() of a module would run each job twice, since PlatformModule imports it for all modules: leave it out',
      );
    }
    const controllers = this.discovery.getControllers().map(({ metatype }) => metatype as object);
    setConstraintErrors(this.store, controllers);
    this.assertGlobal('APP_GUARD', APP_GUARD, BearerGuard);
    this.assertGlobal('APP_FILTER', APP_FILTER, ErrorFilter);
  }

  /**
   * Runs once all modules have said which files they serve.
   *
   * @throws OperatorError when the store is among them
   */
  onApplicationBootstrap(): void {
    if (this.store.path !== undefined) assertStoreNotServed(this.store.path);
  }

  private assertGlobal(name: string, token: string, type: Type<object>): void {
    // Nest gives each provider of a global guard or filter a token of its own.
    const isThere = this.discovery
      .getProviders()
      .some((one) => String(one.token).startsWith(token) && one.instance instanceof type);
    if (isThere) return;
    throw new TypeError(`Add { provide: ${name}, useClass: ${type.name} } to a module's providers`);
  }
}

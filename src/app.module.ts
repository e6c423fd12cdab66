import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import {
  BearerGuard,
  ChangesModule,
  ErrorFilter,
  loadEnv,
  PlatformModule,
} from 'durable-rest/program';
import { PlantsModule } from './modules/plants/plants.module.js';
import { schema } from './schema.js';
import { service } from './service.js';

@Module({
  imports: [PlatformModule.forRoot(service, schema), PlantsModule],
  providers: [
    { provide: APP_GUARD, useClass: BearerGuard },
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
    const imports = [AppModule, ...(isFeedOn ? [ChangesModule] : []), ...features];
    return { module: Program, imports };
  }
}

/** A module of its own, so that `app.select(AppModule)` finds AppModule. */
@Module({})
class Program {}

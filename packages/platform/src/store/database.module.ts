import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Env } from '../config/env.js';
import { Jobs, openDatabase, type Schema, type StoreOptions } from 'durable-store';
import { PinoLogger } from '../observability/pino-logger.js';
import { type Progress, showProgress } from '../observability/progress.js';
import { createDataSourceOptions } from './data-source-options.js';

@Module({})
export class DatabaseModule {
  static forRoot(schema: Schema): DynamicModule {
    const typeOrm = TypeOrmModule.forRootAsync({
      inject: [Env, PinoLogger],
      useFactory: (env: Env, logger: PinoLogger) => ({
        // Nest's logger buffers lines until the application is created.
        ...createDataSourceOptions(env, schema, (line) => logger.log(line, 'Store')),
        // The default logger of TypeORM would print lines of its own.
        logger: 'debug' as const,
        // A store that cannot be opened stops the start at once.
        toRetry: () => false,
      }),
      dataSourceFactory: (options) =>
        openDatabase(options as StoreOptions, async (dataSource) => {
          const read = (): Progress | undefined =>
            dataSource.migrationProgress && { ...dataSource.migrationProgress, unit: 'migrations' };
          await showProgress('Migrating the store', read, dataSource.open());
          await dataSource.assertTables();
        }),
    });
    return {
      module: DatabaseModule,
      global: true,
      imports: [typeOrm],
      providers: [Jobs],
      exports: [Jobs],
    };
  }
}

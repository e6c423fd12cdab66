import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { DataSourceOptions } from 'typeorm';
import { Env } from '../config/env.js';
import { dataSourceOptions } from './data-source-options.js';
import { openDatabase } from './open-database.js';
import { StoreProbe } from './store-probe.js';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [Env],
      useFactory: (env: Env) => ({
        ...dataSourceOptions(env),
        // TypeORM would print what this program says in its own words.
        logger: 'debug' as const,
        // A store that cannot be opened stops the start at once.
        toRetry: () => false,
      }),
      dataSourceFactory: (options) => openDatabase(options as DataSourceOptions),
    }),
  ],
  providers: [StoreProbe],
  exports: [StoreProbe],
})
export class DatabaseModule {}

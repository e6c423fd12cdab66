import { Module, ValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { createStoreOptions, openDatabase, type StoreOptions } from 'durable-store';
import { BedsModule } from './beds/beds.module.js';
import { schema } from './schema.js';
import { StoreErrorFilter } from './store-error.filter.js';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      useFactory: () => ({
        ...createStoreOptions(
          { url: process.env.DATABASE_URL ?? 'sqlite:data/beds.db', poolSize: 4 },
          schema,
        ),
        // A store that cannot be opened stops the start at once, with a message for the operator.
        toRetry: () => false,
      }),
      dataSourceFactory: (options) => openDatabase(options as StoreOptions),
    }),
    BedsModule,
  ],
  providers: [
    { provide: APP_PIPE, useValue: new ValidationPipe({ whitelist: true, transform: true }) },
    { provide: APP_FILTER, useClass: StoreErrorFilter },
  ],
})
export class AppModule {}

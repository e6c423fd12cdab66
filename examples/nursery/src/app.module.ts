import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { BearerGuard, ChangesModule, ErrorFilter, PlatformModule } from 'durable-rest/program';
import { PhotosModule } from './photos/photos.module.js';
import { PlantingsModule } from './plantings/plantings.module.js';
import { SalesModule } from './sales/sales.module.js';
import { schema } from './schema.js';
import { service } from './service.js';
import { VarietiesModule } from './varieties/varieties.module.js';

@Module({
  imports: [
    PlatformModule.forRoot(service, schema),
    ChangesModule,
    VarietiesModule,
    PlantingsModule,
    PhotosModule,
    SalesModule,
  ],
  providers: [
    { provide: APP_GUARD, useClass: BearerGuard },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {}

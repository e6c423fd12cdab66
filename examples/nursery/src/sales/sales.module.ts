import { Module } from '@nestjs/common';
import { provideSettings } from 'durable-rest';
import { PlantingsModule } from '../plantings/plantings.module.js';
import { SalesController } from './sales.controller.js';
import { SalesRepository } from './sales.repository.js';
import { SalesService } from './sales.service.js';
import { SalesSettings } from './sales.settings.js';

@Module({
  imports: [PlantingsModule],
  controllers: [SalesController],
  providers: [SalesService, SalesRepository, provideSettings(SalesSettings)],
})
export class SalesModule {}

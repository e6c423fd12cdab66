import { Module } from '@nestjs/common';
import { PlantingsController } from './plantings.controller.js';
import { PlantingsNight } from './plantings.night.js';
import { PlantingsRepository } from './plantings.repository.js';
import { PlantingsService } from './plantings.service.js';

@Module({
  controllers: [PlantingsController],
  providers: [PlantingsService, PlantingsRepository, PlantingsNight],
  exports: [PlantingsService],
})
export class PlantingsModule {}

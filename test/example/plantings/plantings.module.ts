import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Planting } from './planting.entity.js';
import { PlantingsController } from './plantings.controller.js';
import { PlantingsNight } from './plantings.night.js';
import { PlantingsRepository } from './plantings.repository.js';
import { PlantingsService } from './plantings.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Planting])],
  controllers: [PlantingsController],
  providers: [PlantingsService, PlantingsRepository, PlantingsNight],
})
export class PlantingsModule {}

import { Module } from '@nestjs/common';
import { provideSettings } from 'durable-rest';
import { WateringsController } from './waterings.controller.js';
import { WateringsRepository } from './waterings.repository.js';
import { WateringsService } from './waterings.service.js';
import { WateringsSettings } from './waterings.settings.js';

@Module({
  controllers: [WateringsController],
  providers: [WateringsService, WateringsRepository, provideSettings(WateringsSettings)],
})
export class WateringsModule {}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { VarietiesController } from './varieties.controller.js';
import { VarietiesService } from './varieties.service.js';
import { Variety } from './variety.entity.js';

@Module({
  imports: [TypeOrmModule.forFeature([Variety])],
  controllers: [VarietiesController],
  providers: [VarietiesService],
})
export class VarietiesModule {}

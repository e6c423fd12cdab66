import { Module } from '@nestjs/common';
import { BedsController } from './beds.controller.js';
import { BedsRepository } from './beds.repository.js';

@Module({ controllers: [BedsController], providers: [BedsRepository] })
export class BedsModule {}

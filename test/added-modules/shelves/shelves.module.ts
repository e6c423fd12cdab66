import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Pot } from './pot.entity.js';
import { Shelf } from './shelf.entity.js';
import { ShelvesController } from './shelves.controller.js';
import { ShelvesService } from './shelves.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Shelf, Pot])],
  controllers: [ShelvesController],
  providers: [ShelvesService],
})
export class ShelvesModule {}

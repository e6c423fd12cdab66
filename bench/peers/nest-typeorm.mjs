// Nest with TypeORM as Nest's own sample has it: a ValidationPipe, and a service that calls
// `repository.save()`. tslib applies the decorators as compiled TypeScript does.
//
// Concurrent saves share TypeORM's one SQLite connection and thereby its transaction, so that some
// are answered before their commit: the sample's own trait, and to its advantage here.
import 'reflect-metadata';
import {
  Body,
  Controller,
  HttpCode,
  Inject,
  Injectable,
  Module,
  Post,
  UnauthorizedException,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional, IsString } from 'class-validator';
import process from 'node:process';
import { __decorate, __metadata, __param } from 'tslib';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { isAllowed } from './bearer.mjs';

const Plant = __decorate([Entity('plants')], class Plant {});
__decorate([PrimaryColumn('integer')], Plant.prototype, 'id', undefined);
__decorate([Column('text')], Plant.prototype, 'name', undefined);
__decorate([Column('text', { nullable: true })], Plant.prototype, 'tag', undefined);

class CreatePlantDto {}
__decorate([IsInt()], CreatePlantDto.prototype, 'id', undefined);
__decorate([IsString()], CreatePlantDto.prototype, 'name', undefined);
__decorate([IsOptional(), IsString()], CreatePlantDto.prototype, 'tag', undefined);

const PlantsService = __decorate(
  [
    Injectable(),
    __param(0, Inject(getRepositoryToken(Plant))),
    __metadata('design:paramtypes', [Repository]),
  ],
  class PlantsService {
    constructor(plants) {
      this.plants = plants;
    }

    async create({ id, name, tag }) {
      await this.plants.save(Object.assign(new Plant(), { id, name, tag }));
      return { name, tag };
    }
  },
);

const PlantsController = __decorate(
  [Controller('plants'), __metadata('design:paramtypes', [PlantsService])],
  class PlantsController {
    constructor(plants) {
      this.plants = plants;
    }

    create(dto) {
      return this.plants.create(dto);
    }
  },
);
__decorate(
  [Post(), HttpCode(200), __param(0, Body()), __metadata('design:paramtypes', [CreatePlantDto])],
  PlantsController.prototype,
  'create',
  null,
);

const database = TypeOrmModule.forRoot({
  type: 'better-sqlite3',
  database: process.env.DATABASE,
  enableWAL: true,
  prepareDatabase: (connection) => connection.pragma('synchronous = FULL'),
  entities: [Plant],
  synchronize: true,
});

const AppModule = __decorate(
  [
    Module({
      imports: [database, TypeOrmModule.forFeature([Plant])],
      controllers: [PlantsController],
      providers: [PlantsService],
    }),
  ],
  class AppModule {},
);

const bearerGuard = {
  canActivate(context) {
    if (isAllowed(context.switchToHttp().getRequest().headers.authorization)) return true;
    throw new UnauthorizedException();
  },
};

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.useGlobalPipes(new ValidationPipe());
app.useGlobalGuards(bearerGuard);
await app.listen(process.env.PORT, '127.0.0.1');

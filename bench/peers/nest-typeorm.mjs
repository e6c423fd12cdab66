// Nest with TypeORM as in Nest's own sample: a ValidationPipe, and a service that calls
// `repository.save()`. tslib applies the decorators as compiled TypeScript does.
//
// Concurrent saves share TypeORM's single SQLite connection and so its transaction. Some are
// therefore answered before their commit, as in the sample, which makes it faster here.
import 'reflect-metadata';
import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Inject,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
  Put,
  Query,
  Res,
  UnauthorizedException,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional, IsString } from 'class-validator';
import process from 'node:process';
import { __decorate, __metadata, __param } from 'tslib';
import { Column, Entity, MoreThan, PrimaryColumn, Repository } from 'typeorm';
import { isAllowed } from './bearer.mjs';
import { toEtag, isCurrent, toPage, toPlant, readId, readPage } from './stored-plants.mjs';

const Plant = __decorate([Entity('plants')], class Plant {});
__decorate([PrimaryColumn('integer')], Plant.prototype, 'id', undefined);
__decorate([Column('text')], Plant.prototype, 'name', undefined);
__decorate([Column('text', { nullable: true })], Plant.prototype, 'tag', undefined);

class PlantDto {}
__decorate([IsString()], PlantDto.prototype, 'name', undefined);
__decorate([IsOptional(), IsString()], PlantDto.prototype, 'tag', undefined);

class CreatePlantDto extends PlantDto {}
__decorate([IsInt()], CreatePlantDto.prototype, 'id', undefined);

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

    list({ limit, after, tag }) {
      const where = { tag };
      if (after !== undefined) where.id = MoreThan(after);
      return this.plants.find({ where, order: { id: 'ASC' }, take: limit + 1 });
    }

    async find(id) {
      const plant = await this.plants.findOneBy({ id });
      if (plant === null) throw new NotFoundException();
      return plant;
    }

    async replace(id, { name, tag }) {
      const plant = await this.find(id);
      await this.plants.save(Object.assign(plant, { name, tag: tag ?? null }));
      return { name, tag };
    }

    async remove(id) {
      const { affected } = await this.plants.delete(id);
      if (affected === 0) throw new NotFoundException();
    }
  },
);

/** A pipe for the id of a path. */
const idPipe = {
  transform(text) {
    const id = readId(text);
    if (id === undefined) throw new BadRequestException();
    return id;
  },
};

const PlantsController = __decorate(
  [Controller('plants'), __metadata('design:paramtypes', [PlantsService])],
  class PlantsController {
    constructor(plants) {
      this.plants = plants;
    }

    create(dto) {
      return this.plants.create(dto);
    }

    async list(parameters, response) {
      const query = readPage(parameters);
      if (query === undefined) throw new BadRequestException();
      const { plants, link } = toPage(await this.plants.list(query), query);
      if (link !== undefined) response.set('link', link);
      return plants;
    }

    async read(id, ifNoneMatch, response) {
      const plant = await this.plants.find(id);
      const etag = toEtag(plant);
      response.set('etag', etag);
      if (!isCurrent(ifNoneMatch, etag)) return toPlant(plant);
      response.status(304);
    }

    replace(id, dto) {
      return this.plants.replace(id, dto);
    }

    remove(id) {
      return this.plants.remove(id);
    }
  },
);

/** Decorates a handler, with pairs of a decorator and a type for its parameters. */
function handler(name, route, ...parameters) {
  const decorators = parameters.map(([decorator], index) => __param(index, decorator));
  const types = parameters.map(([, type]) => type);
  const all = [...route, ...decorators, __metadata('design:paramtypes', types)];
  __decorate(all, PlantsController.prototype, name, null);
}

const id = [Param('id', idPipe), Object];
const response = [Res({ passthrough: true }), Object];
handler('create', [Post(), HttpCode(200)], [Body(), CreatePlantDto]);
handler('list', [Get()], [Query(), Object], response);
handler('read', [Get(':id')], id, [Headers('if-none-match'), Object], response);
handler('replace', [Put(':id')], id, [Body(), PlantDto]);
handler('remove', [Delete(':id'), HttpCode(204)], id);

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
// Express would compute an ETag from the text of every answer.
app.set('etag', false);
app.useGlobalPipes(new ValidationPipe());
app.useGlobalGuards(bearerGuard);
await app.listen(process.env.PORT, '127.0.0.1');

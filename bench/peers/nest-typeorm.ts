// Nest with TypeORM as in Nest's own sample: a ValidationPipe, and `repository.save()`.
//
// Concurrent saves share TypeORM's single SQLite connection and so its transaction. Some are
// therefore answered before their commit, as in the sample, which makes it faster here.
import 'reflect-metadata';
import {
  BadRequestException,
  Body,
  type CanActivate,
  Controller,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Put,
  Query,
  Res,
  UnauthorizedException,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional, IsString } from 'class-validator';
import type { Request, Response } from 'express';
import { createRequire } from 'node:module';
import { Column, Entity, MoreThan, PrimaryColumn, type Repository } from 'typeorm';
import { isAllowed, readPage, toEtag, toPage, toPlant } from './plants.js';

@Entity('plants')
class Plant {
  @PrimaryColumn('integer')
  id!: number;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  tag!: string | null;
}

class PlantDto {
  @IsString()
  name!: string;

  @IsOptional()
  @IsString()
  tag?: string;
}

class NewPlantDto extends PlantDto {
  @IsInt()
  id!: number;
}

// The types are named, since the compiler of this file writes none for decorators.
const isNewPlant = new ValidationPipe({ expectedType: NewPlantDto });
const isPlant = new ValidationPipe({ expectedType: PlantDto });

@Controller('plants')
class PlantsController {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  @Post()
  @HttpCode(200)
  async create(@Body(isNewPlant) { id, name, tag }: NewPlantDto): Promise<PlantDto> {
    await this.plants.save(Object.assign(new Plant(), { id, name, tag }));
    return { name, ...(tag !== undefined && { tag }) };
  }

  @Get()
  async list(
    @Query() parameters: Record<string, string>,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object[]> {
    const query = readPage(parameters);
    if (query === undefined) throw new BadRequestException();
    const rows = await this.plants.find({
      where: { id: MoreThan(query.after) },
      order: { id: 'ASC' },
      take: query.limit + 1,
    });
    const { plants, link } = toPage(rows, query);
    if (link !== undefined) response.set('link', link);
    return plants;
  }

  @Get(':id')
  async read(
    @Param('id', ParseIntPipe) id: number,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const plant = await this.find(id);
    response.set('etag', toEtag(plant));
    return toPlant(plant);
  }

  @Put(':id')
  async replace(
    @Param('id', ParseIntPipe) id: number,
    @Body(isPlant) { name, tag }: PlantDto,
  ): Promise<PlantDto> {
    await this.plants.save(Object.assign(await this.find(id), { name, tag: tag ?? null }));
    return { name, ...(tag !== undefined && { tag }) };
  }

  @Delete(':id')
  @HttpCode(204)
  async remove(@Param('id', ParseIntPipe) id: number): Promise<void> {
    const { affected } = await this.plants.delete(id);
    if (affected === 0) throw new NotFoundException();
  }

  private async find(id: number): Promise<Plant> {
    const plant = await this.plants.findOneBy({ id });
    if (plant === null) throw new NotFoundException();
    return plant;
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'better-sqlite3',
      driver: createRequire(import.meta.url)('better-sqlite3') as unknown,
      database: process.env.DATABASE_URL?.replace('sqlite:', '') ?? '',
      enableWAL: true,
      prepareDatabase: (connection: { pragma(text: string): void }) =>
        connection.pragma('synchronous = FULL'),
      entities: [Plant],
      synchronize: true,
    }),
    TypeOrmModule.forFeature([Plant]),
  ],
  controllers: [PlantsController],
})
class AppModule {}

const bearerGuard: CanActivate = {
  canActivate(context: ExecutionContext) {
    const { authorization } = context.switchToHttp().getRequest<Request>().headers;
    if (isAllowed(authorization)) return true;
    throw new UnauthorizedException();
  },
};

const app = await NestFactory.create<NestExpressApplication>(AppModule, {
  logger: ['error', 'warn'],
});
// Express would compute an ETag from the text of every answer.
app.set('etag', false);
app.useGlobalGuards(bearerGuard);
await app.listen(Number(process.env.PORT), '127.0.0.1');

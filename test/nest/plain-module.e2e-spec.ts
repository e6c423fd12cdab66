import { beforeEach, describe, expect, it } from '@jest/globals';
import { addToSchema } from '../support/store.js';
import { TestApp } from '../support/fixture-app.js';

// The module of docs/nest.md, with nothing of the platform.

import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
} from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsString, Length } from 'class-validator';
import {
  Column,
  Entity,
  type MigrationInterface,
  PrimaryGeneratedColumn,
  type QueryRunner,
  Repository,
  Table,
  type TableColumnOptions,
} from 'typeorm';

@Entity('lynxes')
class Lynx {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  name!: string;

  @Column()
  age!: number;
}

class CreateLynxes1795900000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns: TableColumnOptions[] = [
      {
        name: 'id',
        type: 'integer',
        isPrimary: true,
        isGenerated: true,
        generationStrategy: 'increment',
      },
      { name: 'name', type: 'varchar' },
      { name: 'age', type: 'integer' },
    ];
    await queryRunner.createTable(new Table({ name: 'lynxes', columns }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('lynxes');
  }
}

class CreateLynxDto {
  @IsString()
  @Length(1, 50)
  name!: string;

  @IsInt()
  age!: number;
}

@Injectable()
class LynxesService {
  constructor(@InjectRepository(Lynx) private readonly lynxes: Repository<Lynx>) {}

  create(lynx: CreateLynxDto): Promise<Lynx> {
    return this.lynxes.save(lynx as Lynx);
  }

  async findOne(id: number): Promise<Lynx> {
    const lynx = await this.lynxes.findOneBy({ id });
    if (lynx === null) throw new NotFoundException(`There is no lynx ${id}`);
    return lynx;
  }
}

@Controller('lynxes')
class LynxesController {
  constructor(private readonly lynxes: LynxesService) {}

  @Post()
  create(@Body() lynx: CreateLynxDto): Promise<Lynx> {
    return this.lynxes.create(lynx);
  }

  @Get(':id')
  findOne(@Param('id', ParseIntPipe) id: number): Promise<Lynx> {
    return this.lynxes.findOne(id);
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Lynx])],
  controllers: [LynxesController],
  providers: [LynxesService],
})
class LynxesModule {}

addToSchema({ entities: [Lynx], migrations: [CreateLynxes1795900000000] });

describe('a module as the documentation of Nest writes it', () => {
  const app = TestApp.forAll({}, LynxesModule);
  let id: number;

  beforeEach(async () => {
    const { status, body } = await app.post('/lynxes', '{"name":"Tom","age":3}');
    expect(status).toBe(201);
    ({ id } = body as Lynx);
  });

  it('creates a row, and reads it', async () => {
    const answer = await app.get(`/lynxes/${id}`);
    expect(answer).toMatchObject({ status: 200, body: { id, name: 'Tom', age: 3 } });
  });

  it.each([
    [
      'a row that there is not',
      404,
      { error: 40499, message: 'There is no lynx 99' },
      '/lynxes/99',
    ],
    ['an id that is no number', 400, { error: 40099 }, '/lynxes/Tom'],
  ])('refuses %s', async (_, status, body, path) => {
    expect(await app.get(path)).toMatchObject({ status, body });
  });

  it('refuses a body that breaks a rule', async () => {
    expect(await app.post('/lynxes', '{"name":"","age":3}')).toMatchObject({
      status: 400,
      body: { error: 40002 },
    });
  });
});

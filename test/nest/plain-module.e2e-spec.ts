import { beforeEach, describe, expect, it } from '@jest/globals';
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
import { addToSchema } from '../support/store.js';
import { TestApp } from '../support/test-app.js';

// The module of docs/nest.md, with nothing of the platform.

@Entity('cats')
class Cat {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  name!: string;

  @Column()
  age!: number;
}

class CreateCats1795900000000 implements MigrationInterface {
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
    await queryRunner.createTable(new Table({ name: 'cats', columns }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('cats');
  }
}

class CreateCatDto {
  @IsString()
  @Length(1, 50)
  name!: string;

  @IsInt()
  age!: number;
}

@Injectable()
class CatsService {
  constructor(@InjectRepository(Cat) private readonly cats: Repository<Cat>) {}

  create(cat: CreateCatDto): Promise<Cat> {
    return this.cats.save(cat as Cat);
  }

  async findOne(id: number): Promise<Cat> {
    const cat = await this.cats.findOneBy({ id });
    if (cat === null) throw new NotFoundException(`There is no cat ${id}`);
    return cat;
  }
}

@Controller('cats')
class CatsController {
  constructor(private readonly cats: CatsService) {}

  @Post()
  create(@Body() cat: CreateCatDto): Promise<Cat> {
    return this.cats.create(cat);
  }

  @Get(':id')
  findOne(@Param('id', ParseIntPipe) id: number): Promise<Cat> {
    return this.cats.findOne(id);
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Cat])],
  controllers: [CatsController],
  providers: [CatsService],
})
class CatsModule {}

addToSchema({ entities: [Cat], migrations: [CreateCats1795900000000] });

describe('a module as the documentation of Nest writes it', () => {
  const app = TestApp.forAll({}, CatsModule);
  let id: number;

  beforeEach(async () => {
    const { status, body } = await app.post('/cats', '{"name":"Tom","age":3}');
    expect(status).toBe(201);
    ({ id } = body as Cat);
  });

  it('creates a row, and reads it', async () => {
    const answer = await app.get(`/cats/${id}`);
    expect(answer).toMatchObject({ status: 200, body: { id, name: 'Tom', age: 3 } });
  });

  it.each([
    ['a row that there is not', 404, { error: 40499, message: 'There is no cat 99' }, '/cats/99'],
    ['an id that is no number', 400, { error: 40003 }, '/cats/Tom'],
  ])('refuses %s', async (_, status, body, path) => {
    expect(await app.get(path)).toMatchObject({ status, body });
  });

  it('refuses a body that breaks a rule', async () => {
    expect(await app.post('/cats', '{"name":"","age":3}')).toMatchObject({
      status: 400,
      body: { error: 40002 },
    });
  });
});

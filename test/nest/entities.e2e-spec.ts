import { expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { getRepositoryToken, InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Column, Entity, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { schema } from '../../src/schema.js';
import { addToSchema } from '../support/store.js';
import { TestApp } from '../support/test-app.js';

@Entity('cats')
class Cat {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  name!: string;
}

@Injectable()
class CatsService {
  constructor(@InjectRepository(Cat) private readonly cats: Repository<Cat>) {}

  findAll(): Promise<Cat[]> {
    return this.cats.find();
  }
}

@Controller('cats')
class CatsController {
  constructor(private readonly cats: CatsService) {}

  @Get()
  findAll(): Promise<Cat[]> {
    return this.cats.findAll();
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Cat])],
  controllers: [CatsController],
  providers: [CatsService],
})
class CatsModule {}

@Entity('dogs')
class Dog {
  @PrimaryGeneratedColumn()
  id!: number;
}

@Module({ imports: [TypeOrmModule.forFeature([Dog])] })
class DogsModule {}

addToSchema({ entities: [Cat], migrations: [] });

it('the start names an entity that no migration has made a table for', async () => {
  const line = 'Cat has no table cats: list the migration that creates it in src/schema.ts';
  await expect(TestApp.start({}, CatsModule)).rejects.toThrow(line);
});

it('the start names an entity of forFeature() that the store does not know', async () => {
  schema.entities.splice(schema.entities.indexOf(Cat), 1);
  const start = TestApp.start({}, DogsModule);
  await expect(start).rejects.toThrow('Dog is not among the entities of src/schema.ts');
});

it('a unit test by @nestjs/testing gets a repository of its own', async () => {
  const cats = [{ id: 1, name: 'Tom' }];
  const module = await Test.createTestingModule({
    controllers: [CatsController],
    providers: [
      CatsService,
      { provide: getRepositoryToken(Cat), useValue: { find: () => Promise.resolve(cats) } },
    ],
  }).compile();
  expect(await module.get(CatsController).findAll()).toEqual(cats);
});

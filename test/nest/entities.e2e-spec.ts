import { expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { getRepositoryToken, InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Column, Entity, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { schema } from '../fixtures/schema.js';
import { addToSchema } from '../support/store.js';
import { TestApp } from '../support/fixture-app.js';

@Entity('lynxes')
class Lynx {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  name!: string;
}

@Injectable()
class LynxesService {
  constructor(@InjectRepository(Lynx) private readonly lynxes: Repository<Lynx>) {}

  findAll(): Promise<Lynx[]> {
    return this.lynxes.find();
  }
}

@Controller('lynxes')
class LynxesController {
  constructor(private readonly lynxes: LynxesService) {}

  @Get()
  findAll(): Promise<Lynx[]> {
    return this.lynxes.findAll();
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Lynx])],
  controllers: [LynxesController],
  providers: [LynxesService],
})
class LynxesModule {}

@Entity('dogs')
class Dog {
  @PrimaryGeneratedColumn()
  id!: number;
}

@Module({ imports: [TypeOrmModule.forFeature([Dog])] })
class DogsModule {}

addToSchema({ entities: [Lynx], migrations: [] });

it('the start names an entity that no migration has made a table for', async () => {
  const line = 'Lynx has no table lynxes: list the migration that creates it in src/schema.ts';
  await expect(TestApp.start({}, LynxesModule)).rejects.toThrow(line);
});

it('the start names an entity of forFeature() that the store does not know', async () => {
  schema.entities.splice(schema.entities.indexOf(Lynx), 1);
  const start = TestApp.start({}, DogsModule);
  await expect(start).rejects.toThrow('Dog is not among the entities of src/schema.ts');
});

it('a unit test by @nestjs/testing gets a repository of its own', async () => {
  const lynxes = [{ id: 1, name: 'Tom' }];
  const module = await Test.createTestingModule({
    controllers: [LynxesController],
    providers: [
      LynxesService,
      { provide: getRepositoryToken(Lynx), useValue: { find: () => Promise.resolve(lynxes) } },
    ],
  }).compile();
  expect(await module.get(LynxesController).findAll()).toEqual(lynxes);
});

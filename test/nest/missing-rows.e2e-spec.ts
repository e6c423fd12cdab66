import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { expectError } from 'durable-rest/testing';
import { CreateTable, int32, text } from 'durable-rest';
import { Column, Entity, PrimaryColumn, Repository, VersionColumn } from 'typeorm';
import { schema } from '../fixtures/schema.js';
import { recordLog } from '../support/record-log.js';
import { addToSchema } from '../support/store.js';
import { TestApp } from '../support/fixture-app.js';

@Entity('hares')
class Hare {
  @PrimaryColumn()
  id!: number;

  @Column()
  name!: string;

  @VersionColumn()
  version!: number;
}

class CreateHares1795900000004 extends CreateTable({
  name: 'hares',
  columns: { id: int32(), name: text(), version: int32() },
  key: ['id'],
}) {}

addToSchema({ entities: [Hare], migrations: [CreateHares1795900000004] });

@Controller('hares')
class HaresController {
  constructor(@InjectRepository(Hare) private readonly hares: Repository<Hare>) {}

  @Get('first')
  first(@Query('id') id?: string): Promise<Hare | null> {
    // What a caller without types may pass.
    return this.hares.findOneBy({ id: id as never });
  }

  @Get('missing')
  missing(): Promise<Hare> {
    return this.hares.findOneByOrFail({ id: 7 });
  }

  @Get('outdated')
  outdated(): Promise<Hare | null> {
    const lock = { mode: 'optimistic', version: 99 } as const;
    return this.hares.findOne({ where: { id: 1 }, lock });
  }
}

@Module({ imports: [TypeOrmModule.forFeature([Hare])], controllers: [HaresController] })
class HaresModule {}

async function start(): Promise<TestApp> {
  const app = await TestApp.start({}, HaresModule);
  await app.query(`INSERT INTO hares (id, name, version) VALUES (1, 'Harriet', 1)`);
  return app;
}

describe('a row that TypeORM does not find', () => {
  it.each([
    ['missing', 'Could not find any entity of type'],
    ['outdated', 'The optimistic lock on entity Hare failed'],
  ])('%s is a bug of the module, which the log explains', async (path, message) => {
    const app = await start();
    try {
      const lines = recordLog(app, 'error');
      expectError(await app.get(`/hares/${path}`), 'INTERNAL');
      expect(lines.join()).toContain(message);
    } finally {
      await app.close();
    }
  });

  it('is another one by default if a value of its condition is undefined', async () => {
    const app = await start();
    try {
      expect((await app.get('/hares/first')).body).toMatchObject({ name: 'Harriet' });
    } finally {
      await app.close();
    }
  });

  it('is an error where src/schema.ts says so', async () => {
    Object.assign(schema, { invalidWhereValuesBehavior: { undefined: 'throw' } });
    const app = await start();
    try {
      const lines = recordLog(app, 'error');
      expectError(await app.get('/hares/first'), 'INTERNAL');
      expect(lines.join()).toContain('Undefined value encountered');
      expect((await app.get('/hares/first?id=1')).status).toBe(200);
    } finally {
      await app.close();
      Object.assign(schema, { invalidWhereValuesBehavior: {} });
    }
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Body,
  type CanActivate,
  Controller,
  Get,
  Injectable,
  Module,
  Post,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test, type TestingModule } from '@nestjs/testing';
import { IsString } from 'class-validator';
import { createApplication } from 'durable-rest/program';
import { TestStore, TOKEN } from 'durable-rest/testing';
import { AppModule } from '../fixtures/app.js';
import { PlantsService } from '../fixtures/plants.module.js';

// The tests of Nest's documentation, with the whole program.

class CreateLynxDto {
  @IsString()
  name!: string;
}

@Injectable()
class LynxesService {
  findAll(): string[] {
    return ['stored'];
  }
}

@Injectable()
class ClosedGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Controller('lynxes')
class LynxesController {
  constructor(private readonly lynxes: LynxesService) {}

  @Get()
  @UseGuards(ClosedGuard)
  findAll(): string[] {
    return this.lynxes.findAll();
  }

  @Post()
  create(@Body() lynx: CreateLynxDto): CreateLynxDto {
    return lynx;
  }
}

@Module({ controllers: [LynxesController], providers: [LynxesService] })
class LynxesModule {}

let store: TestStore;
beforeAll(async () => {
  store = await TestStore.create();
  const env = { DATABASE_URL: store.url, ACCESS_TOKENS: TOKEN, LOG_LEVEL: 'silent' };
  process.env = { ...process.env, ...env };
});
afterAll(() => store.remove());

function compile(): Promise<TestingModule> {
  return Test.createTestingModule({ imports: [AppModule, LynxesModule] })
    .overrideProvider(LynxesService)
    .useValue({ findAll: () => ['test'] })
    .overrideGuard(ClosedGuard)
    .useValue({ canActivate: () => true })
    .compile();
}

describe('the application of a testing module', () => {
  let app: NestExpressApplication;
  beforeAll(async () => {
    app = await createApplication(await compile());
    await app.listen(0, '127.0.0.1');
  });
  afterAll(() => app.close());

  it.each([
    ['GET', '/lynxes', undefined, 200, ['test']],
    ['POST', '/lynxes', '{"name":"Tom"}', 201, { name: 'Tom' }],
    ['POST', '/lynxes', '{}', 400, { error: 40002 }],
    ['POST', '/plants', '{"id":1,"name":"a"}', 200, {}],
    ['GET', '/plants/1', undefined, 200, { id: 1, name: 'a' }],
    ['GET', '/nothing', undefined, 404, { error: 40400 }],
  ])('answers %s %s %s with %i', async (method, path, body, status, json) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
    const init = { method, headers };
    const answer = await fetch(
      (await app.getUrl()) + path,
      body === undefined ? init : { ...init, body },
    );
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject(json);
  });

  it('requires a token', async () => {
    expect(await fetch(`${await app.getUrl()}/lynxes`)).toMatchObject({ status: 401 });
  });
});

it("the start says what to write in place of Nest's own adapter", async () => {
  const app = (await compile()).createNestApplication();
  await expect(app.init()).rejects.toThrow('in a test createApplication(moduleRef)');
  await app.close();
});

it('a standalone application has the providers of the program', async () => {
  const context = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const { body } = await context.get(PlantsService).read(1n);
  expect(body).toMatchObject({ id: 1n, name: 'a' });
  await context.close();
});

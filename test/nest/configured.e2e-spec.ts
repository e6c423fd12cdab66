import { afterAll, describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  Get,
  HttpStatus,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Post,
  Req,
  ValidationPipe,
  type ValidationPipeOptions,
  type VersioningOptions,
  VersioningType,
} from '@nestjs/common';
import { APP_PIPE, HttpAdapterHost } from '@nestjs/core';
import type { ExpressAdapter } from '@nestjs/platform-express';
import { ScheduleModule } from '@nestjs/schedule';
import { ServeStaticModule } from '@nestjs/serve-static';
import {
  IsString,
  useContainer,
  Validate,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import compression from 'compression';
import cookieParser from 'cookie-parser';
import express, { type Request } from 'express';
import helmet from 'helmet';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectError } from 'durable-rest/testing';
import { AppModule } from '../fixtures/app.js';
import { PlantErrors } from '../fixtures/plants.module.js';
import { inNewFolder } from '../support/new-folder.js';
import { recordLog } from '../support/record-log.js';
import { TestApp } from '../support/fixture-app.js';

class CreateLynxDto {
  @IsString()
  name!: string;
}

@Controller('lynxes')
class LynxesController {
  @Get('cookie')
  cookie(@Req() request: Request): unknown {
    return request.cookies;
  }

  @Get('long')
  long(): unknown {
    return { name: 'a'.repeat(2_000) };
  }

  @Post()
  create(@Body() lynx: CreateLynxDto): CreateLynxDto {
    return lynx;
  }

  @Post('raw')
  raw(@Req() request: Request): unknown {
    return request.body;
  }
}

@Controller({ path: 'dogs', version: '1' })
class DogsController {
  @Get()
  findAll(): string {
    return 'of version 1';
  }
}

@Module({ controllers: [LynxesController, DogsController] })
class LynxesModule {}

const IGNORED: readonly ValidationPipeOptions[] = [
  { groups: ['a'] },
  { skipMissingProperties: true },
  { errorHttpStatusCode: HttpStatus.UNPROCESSABLE_ENTITY },
  { exceptionFactory: () => new Error('bad') },
  { expectedType: CreateLynxDto },
  { disableErrorMessages: true },
  { stopAtFirstError: true },
  { dismissDefaultMessages: true },
  { transformOptions: { enableImplicitConversion: true } },
  { transformOptions: { excludeExtraneousValues: true } },
  { transformOptions: { strategy: 'excludeAll' } },
];

it.each(IGNORED)(
  'the start names the option of a ValidationPipe that would have no effect: %j',
  async (options) => {
    @Module({ providers: [{ provide: APP_PIPE, useValue: new ValidationPipe(options) }] })
    class PipeModule {}
    const [name = ''] = Object.keys(options.transformOptions ?? options);
    await expect(TestApp.start({}, PipeModule)).rejects.toThrow(`ValidationPipe({ ${name} })`);
  },
);

describe('a hybrid application', () => {
  const app = TestApp.forAll();

  it('is refused, since its messages would be handled without a token', () => {
    expect(() => app.nest.connectMicroservice({})).toThrow(
      'connectMicroservice(): messages would be handled without a token',
    );
  });
});

it('the start says that GraphQL would be answered without a token', async () => {
  // Nest's GraphQLModule provides its options so.
  @Module({ providers: [{ provide: 'GqlModuleOptions', useValue: {} }] })
  class GraphModule {}
  const start = TestApp.start({}, GraphModule);
  await expect(start).rejects.toThrow('GraphQLModule: GraphQL is not supported');
});

it('the start says to leave out a second ScheduleModule, which would run each job twice', async () => {
  const start = TestApp.start({}, ScheduleModule.forRoot() as never);
  await expect(start).rejects.toThrow('ScheduleModule.forRoot() of a module');
});

it.each<[string, (host: HttpAdapterHost) => void]>([
  ['express.json()', ({ httpAdapter }) => void httpAdapter.use(express.json())],
  ['express.raw()', ({ httpAdapter }) => void httpAdapter.use(express.raw())],
  ['express.text()', ({ httpAdapter }) => void httpAdapter.use(express.text())],
  ['express.urlencoded()', ({ httpAdapter }) => void httpAdapter.use(express.urlencoded())],
  [
    'useBodyParser()',
    ({ httpAdapter }) => void (httpAdapter as ExpressAdapter).useBodyParser('json', false),
  ],
])('the start says what to write in place of %s for all paths', async (_, parse) => {
  @Module({})
  class ParserModule implements NestModule {
    constructor(private readonly host: HttpAdapterHost) {}

    configure(): void {
      parse(this.host);
    }
  }
  await expect(TestApp.start({}, ParserModule)).rejects.toThrow('write @Body() body: AClass');
});

describe('a parser of bodies on paths of a module', () => {
  @Module({})
  class ParserModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(express.json()).forRoutes('lynxes');
    }
  }
  const app = TestApp.forAll({}, LynxesModule, ParserModule);

  it('gives a handler the body', async () => {
    expect((await app.post('/lynxes/raw', '{"name":"a"}')).body).toEqual({ name: 'a' });
  });

  it('is named in the log if the handler has a @Body() too', async () => {
    const lines = recordLog(app, 'error');
    expectError(await app.post('/lynxes', '{"name":"a"}'), 'INTERNAL');
    expect(lines.join()).toContain('express.json() has read the body');
  });
});

/** The path and the headers of a request. */
type Target = readonly [path: string, headers: Record<string, string>];

describe.each<[string, VersioningOptions, known: Target, unknown: Target]>([
  [
    'in the path',
    { type: VersioningType.URI, defaultVersion: '1' },
    ['/v1/dogs', {}],
    ['/v9/dogs', {}],
  ],
  [
    'in a header',
    { type: VersioningType.HEADER, header: 'X-Version', defaultVersion: '1' },
    ['/dogs', { 'X-Version': '1' }],
    ['/dogs', { 'X-Version': '9' }],
  ],
  [
    'in the media type',
    { type: VersioningType.MEDIA_TYPE, key: 'v=', defaultVersion: '1' },
    ['/dogs', { Accept: 'application/json;v=1' }],
    ['/dogs', { Accept: 'application/json;v=9' }],
  ],
  [
    'by a function',
    {
      type: VersioningType.CUSTOM,
      extractor: (request) => String((request as Request).headers['x-versions']).split(','),
      defaultVersion: '1',
    },
    ['/dogs', { 'X-Versions': '7,1' }],
    ['/dogs', { 'X-Versions': '9' }],
  ],
])('versions %s with a default', (_, options, known, unknown) => {
  const app = TestApp.configured((nest) => nest.enableVersioning(options), LynxesModule);

  it('leave the paths of the program where they are', async () => {
    expect(await app.create('{"id":1,"name":"a"}')).toMatchObject({ status: 200 });
    expect(await app.get('/health/live')).toMatchObject({ status: 200 });
    expect(await app.get('/metrics')).toMatchObject({ status: 200 });
    expect(await app.get(...known)).toMatchObject({ status: 200, text: 'of version 1' });
  });

  it('give 404 for a version that there is not', async () => {
    expectError(await app.get(...unknown), 'NOT_FOUND');
  });
});

describe('compression', () => {
  const app = TestApp.configured((nest) => nest.use(compression()), LynxesModule);

  it.each([
    ['/lynxes/long', 'Accept-Encoding'],
    ['/plants', 'Accept, Accept-Encoding'],
    ['/openapi.json', 'Accept-Encoding'],
  ])('compresses %s, which varies by %s', async (path, vary) => {
    const name = 'a'.repeat(1_000);
    await app.create(`{"id":1,"name":"${name}"}`);
    await app.create(`{"id":2,"name":"${name}"}`);
    const plain = await app.get(path, { 'Accept-Encoding': 'identity' });
    const answer = await app.get(path, { 'Accept-Encoding': 'gzip' });
    expect(answer).toMatchObject({ status: 200, text: plain.text });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(answer.headers.get('vary')).toBe(vary);
    expect(answer.headers.get('cache-control')).toBe(plain.headers.get('cache-control'));
  });

  it('leaves the ETag of a compressed plant as it is, for a conditional change', async () => {
    await app.create(`{"id":3,"name":"${'a'.repeat(2_000)}"}`);
    const { headers } = await app.get('/plants/3', { 'Accept-Encoding': 'gzip' });
    expect(headers.get('content-encoding')).toBe('gzip');
    const etag = headers.get('etag') ?? '';
    const unchanged = await app.get('/plants/3', { 'If-None-Match': etag });
    expect(unchanged).toMatchObject({ status: 304 });
    const changed = await app.put('/plants/3', '{"name":"b"}', { 'If-Match': etag });
    expect(changed).toMatchObject({ status: 200, body: { name: 'b' } });
    const late = await app.put('/plants/3', '{"name":"c"}', { 'If-Match': etag });
    expectError(late, 'PRECONDITION_FAILED');
  });
});

describe('files that are served at the root', () => {
  it('leave the paths of the program where they are', async () => {
    await inNewFolder(async (rootPath) => {
      await writeFile(join(rootPath, 'index.html'), 'the page');
      const app = await TestApp.start({}, ServeStaticModule.forRoot({ rootPath }) as never);
      expect((await app.get('/')).headers.get('location')).toBe('/docs');
      expect(await app.get('/a/page')).toMatchObject({ status: 200, text: 'the page' });
      expectError(await app.get('/plants/7'), PlantErrors.PLANT_NOT_FOUND);
      expect((await app.get('/docs/')).text).toContain('Plant Store');
      expect((await app.get('/openapi.json')).body).toMatchObject({ openapi: '3.1.0' });
      await app.close();
    });
  });
});

@Injectable()
class TakenNames {
  has(name: string): boolean {
    return name === 'Tom';
  }
}

@ValidatorConstraint({ async: true })
@Injectable()
class IsFree implements ValidatorConstraintInterface {
  constructor(private readonly taken: TakenNames) {}

  validate(name: string): Promise<boolean> {
    return Promise.resolve(!this.taken.has(name));
  }

  defaultMessage(): string {
    return '$property is taken';
  }
}

class NamedDto {
  @IsString()
  @Validate(IsFree)
  name!: string;
}

@Controller('named')
class NamedController {
  @Post()
  create(@Body() named: NamedDto): NamedDto {
    return named;
  }
}

@Module({ controllers: [NamedController], providers: [IsFree, TakenNames] })
class NamedModule {}

describe('useContainer() of class-validator', () => {
  const app = TestApp.configured((nest) => {
    useContainer(nest.select(AppModule), { fallbackOnErrors: true });
  }, NamedModule);
  // It is the same for all applications of the tests.
  afterAll(() => useContainer({ get: () => undefined }, { fallback: true }));

  it('gives validators their providers, and logs nothing', async () => {
    const lines = recordLog(app, 'error');
    expect(await app.post('/named', '{"name":"Tim"}')).toMatchObject({ status: 201 });
    expectError(
      await app.post('/named', '{"name":"Tom"}'),
      'INVALID_BODY',
      'The body is not valid: name is taken',
    );
    expect(lines).toEqual([]);
  });
});

describe('helmet and cookie-parser', () => {
  const app = TestApp.configured((nest) => {
    nest.use(helmet());
    nest.use(cookieParser());
  }, LynxesModule);

  it('work as documented', async () => {
    const { headers, body } = await app.get('/lynxes/cookie', { Cookie: 'a=b' });
    expect(body).toEqual({ a: 'b' });
    expect(headers.get('strict-transport-security')).toMatch(/^max-age=/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(await app.create('{"id":1,"name":"a"}')).toMatchObject({ status: 200 });
    expect(await app.get('/docs/')).toMatchObject({ status: 200 });
  });
});

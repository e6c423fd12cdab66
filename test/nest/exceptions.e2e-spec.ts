import { describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  BadGatewayException,
  BadRequestException,
  Body,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  ForbiddenException,
  Get,
  GoneException,
  HttpException,
  HttpStatus,
  InternalServerErrorException,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  NotFoundException,
  Param,
  ParseIntPipe,
  type PipeTransform,
  Post,
  RequestTimeoutException,
  ServiceUnavailableException,
  UnauthorizedException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';
import {
  HealthCheck,
  HealthCheckService,
  HealthIndicatorService,
  TerminusModule,
} from '@nestjs/terminus';
import { IsString } from 'class-validator';
import type { Request, Response } from 'express';
import { ApiError, ErrorCatalogue, Public } from 'durable-rest';
import { expectError } from 'durable-rest/testing';
import { recordLog } from '../support/record-log.js';
import { TestApp } from '../support/fixture-app.js';

class CreateLynxDto {
  @IsString()
  name!: string;
}

class NameTakenPipe implements PipeTransform<CreateLynxDto> {
  transform(lynx: CreateLynxDto): CreateLynxDto {
    if (lynx.name === 'taken') throw new BadRequestException('the name is taken');
    return lynx;
  }
}

class OwnerGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

const THROWN: Readonly<Record<string, () => unknown>> = {
  'not-found': () => new NotFoundException('no such lynx'),
  'without-text': () => new NotFoundException(),
  'with-object': () => new NotFoundException({ code: 'CAT', id: 5 }),
  documented: () =>
    new HttpException(
      { status: HttpStatus.FORBIDDEN, error: 'This is a custom message' },
      HttpStatus.FORBIDDEN,
    ),
  bad: () => new BadRequestException(['a is bad', 'b is bad']),
  forbidden: () => new ForbiddenException('not your lynx'),
  unauthorized: () => new UnauthorizedException('log in again'),
  timeout: () => new RequestTimeoutException('the lynx is slow'),
  gone: () => new GoneException('the lynx has left'),
  teapot: () => new HttpException('a teapot', 418),
  'too-many': () => new HttpException('one lynx a minute', 429),
  gateway: () => new BadGatewayException('the vet is closed'),
  unavailable: () => new ServiceUnavailableException('the lynx sleeps'),
  internal: () => new InternalServerErrorException('a secret'),
  error: () => new TypeError('a secret'),
  text: () => 'a secret',
  object: () => ({ message: { reason: 'it sleeps' }, stack: 1 }),
  platform: () => new ApiError(ErrorCatalogue.CONFLICT, 'the name is taken'),
  bug: () => new ApiError(ErrorCatalogue.INTERNAL),
};

function fail(name: string): never {
  throw THROWN[name]?.();
}

@Controller('lynxes')
class LynxesController {
  @Get('throw/:name')
  throw(@Param('name', { transform: String }) name: string): never {
    return fail(name);
  }

  @Get('guarded')
  @UseGuards(OwnerGuard)
  guarded(): void {
    return undefined;
  }

  @Get(':id')
  findOne(@Param('id', ParseIntPipe) id: number): object {
    return { id };
  }

  @Post()
  create(@Body(NameTakenPipe) lynx: CreateLynxDto): CreateLynxDto {
    return lynx;
  }
}

@Catch(HttpException)
class HttpExceptionFilter implements ExceptionFilter<HttpException> {
  catch(exception: HttpException, host: ArgumentsHost): void {
    const context = host.switchToHttp();
    const status = exception.getStatus();
    context
      .getResponse<Response>()
      .status(status)
      .json({ statusCode: status, path: context.getRequest<Request>().url });
  }
}

@Catch()
class BaseFilter extends BaseExceptionFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    super.catch(exception, host);
  }
}

@Catch()
class BrokenFilter implements ExceptionFilter {
  catch(): never {
    throw new TypeError('a bug of the filter');
  }
}

@Catch()
class AsyncBrokenFilter implements ExceptionFilter {
  async catch(): Promise<never> {
    await Promise.resolve();
    throw new TypeError('a bug of the filter');
  }
}

@Controller('dogs')
class DogsController {
  @Get('http/:name')
  @UseFilters(HttpExceptionFilter)
  http(@Param('name', { transform: String }) name: string): never {
    return fail(name);
  }

  @Get('base/:name')
  @UseFilters(BaseFilter)
  base(@Param('name', { transform: String }) name: string): never {
    return fail(name);
  }

  @Get('broken')
  @UseFilters(BrokenFilter)
  broken(): never {
    return fail('error');
  }

  @Get('async-broken')
  @UseFilters(AsyncBrokenFilter)
  asyncBroken(): never {
    return fail('error');
  }
}

@Controller('terminus')
@Public()
class TerminusController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
  ) {}

  @Get()
  @HealthCheck()
  check(): unknown {
    const dog = this.indicators.check('dog').down('it sleeps');
    return this.health.check([() => dog]);
  }
}

@Module({
  imports: [TerminusModule],
  controllers: [LynxesController, DogsController, TerminusController],
})
class LynxesModule {}

const app = TestApp.forAll({}, LynxesModule);

describe("an exception of Nest's that a module throws", () => {
  it.each([
    ['not-found', 40499, 'no such lynx'],
    ['without-text', 40499, 'Not Found'],
    ['with-object', 40499, 'Not Found'],
    ['documented', 40399, 'Forbidden'],
    ['bad', 40099, 'a is bad; b is bad'],
    ['forbidden', 40399, 'not your lynx'],
    ['unauthorized', 40199, 'log in again'],
    ['timeout', 40899, 'the lynx is slow'],
    ['gone', 41099, 'the lynx has left'],
    ['teapot', 41899, 'a teapot'],
    ['too-many', 42999, 'one lynx a minute'],
    ['gateway', 50299, 'the vet is closed'],
    ['unavailable', 50399, 'the lynx sleeps'],
    ['internal', 50000, ErrorCatalogue.INTERNAL.message],
    ['error', 50000, ErrorCatalogue.INTERNAL.message],
    ['text', 50000, ErrorCatalogue.INTERNAL.message],
    ['object', 50000, ErrorCatalogue.INTERNAL.message],
    ['platform', 40999, 'the name is taken'],
  ])('%s has the code %i and the text %s', async (name, error, message) => {
    expectError(await app.get(`/lynxes/throw/${name}`), { error, message }, message);
  });

  it.each(['forbidden', 'documented', 'timeout'])(
    '%s has no header of the platform',
    async (name) => {
      const { headers } = await app.get(`/lynxes/throw/${name}`);
      expect(headers.get('www-authenticate')).toBeNull();
      expect(headers.get('retry-after')).toBeNull();
    },
  );

  it('has no challenge if a guard returned false', async () => {
    const answer = await app.get('/lynxes/guarded');
    expectError(answer, { error: 40399, message: '' }, 'Forbidden resource');
    expect(answer.headers.get('www-authenticate')).toBeNull();
  });

  it.each([
    ['unauthorized', 'www-authenticate', 'Bearer realm="plant-store"'],
    ['too-many', 'retry-after', '1'],
    ['unavailable', 'retry-after', '1'],
  ])('%s has the header %s that its status needs', async (name, header, value) => {
    const { headers } = await app.get(`/lynxes/throw/${name}`);
    expect(headers.get(header)).toBe(value);
  });
});

describe('the refusal of a pipe is 40099', () => {
  it('of a body', async () => {
    const answer = await app.post('/lynxes', '{"name":"taken"}');
    expectError(answer, { error: 40099, message: '' }, 'the name is taken');
  });

  it('of a parameter', async () => {
    const message = 'Validation failed (numeric string is expected)';
    expectError(await app.get('/lynxes/x'), { error: 40099, message: '' }, message);
  });
});

describe('a filter of a module', () => {
  it('gets errors of the platform as exceptions of HTTP', async () => {
    const { status, body } = await app.get('/dogs/http/platform');
    expect({ status, body }).toEqual({
      status: 409,
      body: { statusCode: 409, path: '/dogs/http/platform' },
    });
  });

  it.each([
    ['platform', 409, { error: 40999, message: 'the name is taken' }],
    ['forbidden', 403, { message: 'not your lynx', error: 'Forbidden', statusCode: 403 }],
    ['error', 500, { statusCode: 500, message: 'Internal server error' }],
  ])('that extends BaseExceptionFilter answers as Nest does: %s', async (name, status, body) => {
    expect(await app.get(`/dogs/base/${name}`)).toMatchObject({ status, body });
  });

  it.each(['broken', 'async-broken'])('that fails is logged, and is a 500: %s', async (name) => {
    const lines = recordLog(app, 'error');
    expectError(await app.get(`/dogs/${name}`), 'INTERNAL');
    expect(lines.join()).toContain('a bug of the filter');
  });
});

it('a thrown object that is no error is in the log', async () => {
  const lines = recordLog(app, 'error');
  expectError(await app.get('/lynxes/throw/object'), 'INTERNAL');
  expect(lines.join()).toContain('it sleeps');
});

it('an own error with the status 500 is in the log', async () => {
  const lines = recordLog(app, 'error');
  expectError(await app.get('/lynxes/throw/bug'), 'INTERNAL');
  expect(lines.join()).toContain('ApiError');
});

it('the details of failed health checks are in the log', async () => {
  const lines = recordLog(app, 'error');
  const answer = await app.get('/terminus');
  expectError(answer, { error: 50399, message: '' }, 'Service Unavailable');
  expect(lines.join()).toContain('it sleeps');
});

@Catch()
class CatchEverythingFilter implements ExceptionFilter {
  constructor(private readonly httpAdapterHost: HttpAdapterHost) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const { httpAdapter } = this.httpAdapterHost;
    const context = host.switchToHttp();
    const statusCode =
      exception instanceof HttpException ? exception.getStatus() : HttpStatus.INTERNAL_SERVER_ERROR;
    const path = String(httpAdapter.getRequestUrl(context.getRequest()));
    httpAdapter.reply(context.getResponse(), { statusCode, path }, statusCode);
  }
}

@Module({ providers: [{ provide: APP_FILTER, useClass: CatchEverythingFilter }] })
class CatchEverythingModule {}

@Module({ providers: [{ provide: APP_FILTER, useClass: BrokenFilter }] })
class BrokenModule {}

@Module({ providers: [{ provide: APP_FILTER, useClass: AsyncBrokenFilter }] })
class AsyncBrokenModule {}

describe("Nest's documented filter of everything", () => {
  const own = TestApp.forAll({}, LynxesModule, CatchEverythingModule);

  it.each([
    ['GET', '/plants/77', 404, {}],
    ['GET', '/plants?limit=0', 400, {}],
    ['GET', '/nothing', 404, {}],
    ['GET', '/lynxes/throw/error', 500, {}],
    ['GET', '/lynxes/throw/forbidden', 403, {}],
    ['PUT', '/plants', 405, { allow: 'GET, HEAD, OPTIONS, POST' }],
  ])('answers %s %s in its own words', async (method, path, statusCode, headers) => {
    const init = { headers: own.authorization };
    const answer = await own.request(method, path, init);
    expect(answer).toMatchObject({ status: statusCode, body: { statusCode, path } });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...headers,
      'content-type': 'application/json; charset=utf-8',
    });
  });

  it('keeps the headers that a status requires', async () => {
    const { status, headers } = await own.request('GET', '/plants');
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe('Bearer realm="plant-store"');
  });

  it('changes no other answer', async () => {
    expect(await own.create('{"id":1,"name":"a"}')).toMatchObject({ status: 200 });
    expect(await own.get('/plants')).toMatchObject({ status: 200, body: [{ id: 1, name: 'a' }] });
  });
});

describe.each([
  ['fails', BrokenModule],
  ['fails asynchronously', AsyncBrokenModule],
])('a global filter that %s', (_, module) => {
  const own = TestApp.forAll({}, LynxesModule, module);

  it('is logged, and the answer is a 500', async () => {
    const lines = recordLog(own, 'error');
    for (const path of ['/plants/77', '/nothing', '/lynxes/throw/error']) {
      expectError(await own.get(path), 'INTERNAL');
    }
    expect(lines.filter((line) => line.includes('a bug of the filter'))).toHaveLength(3);
  });
});

@Module({})
class MiddlewareModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    const fail = (): never => {
      throw new TypeError('a bug of the middleware');
    };
    consumer.apply(fail).forRoutes('lynxes');
  }
}

describe('a middleware that fails', () => {
  const own = TestApp.forAll({}, LynxesModule, MiddlewareModule);

  it('is logged, and the answer is a 500', async () => {
    const lines = recordLog(own, 'error');
    expectError(await own.get('/lynxes/1'), 'INTERNAL');
    expect(lines.join()).toContain('a bug of the middleware');
  });
});

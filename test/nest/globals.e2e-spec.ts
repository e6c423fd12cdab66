import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  type CallHandler,
  ClassSerializerInterceptor,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type NestInterceptor,
  RequestTimeoutException,
  StreamableFile,
  ValidationPipe,
} from '@nestjs/common';
import { APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { Exclude } from 'class-transformer';
import { catchError, map, type Observable, of, tap, throwError, timeout, TimeoutError } from 'rxjs';
import type { Request } from 'express';
import { Decimal, JsonText } from 'durable-rest';
import type { Answer } from 'durable-rest/testing';
import { TestApp } from '../support/fixture-app.js';

const BIG = '9007199254740993';
const LINES = { Accept: 'application/x-ndjson' };

/** Every operation on plants, with what is stored at the end. */
async function usePlants(app: TestApp): Promise<Record<string, Answer>> {
  const answers = {
    created: await app.create(`{"id":${BIG},"name":"Monstera","tag":"old","unknown":1}`),
    patched: await app.patch(`/plants/${BIG}`, '{"name":"New name"}'),
    read: await app.get(`/plants/${BIG}`),
    page: await app.get('/plants?limit=1'),
    lines: await app.get('/plants', LINES),
    missing: await app.get('/plants/77'),
    imported: await app.post('/plants/import', '{"id":2,"name":"b"}\n', {
      'Content-Type': 'application/x-ndjson',
    }),
    replaced: await app.put(`/plants/${BIG}`, '{"name":"Newer name"}'),
    next: await app.get('/plants?limit=1'),
    removed: await app.delete('/plants/2'),
  };
  const etag = answers.read.headers.get('etag') ?? '';
  const unmodified = await app.get(`/plants/${BIG}`, { 'If-None-Match': etag });
  return { ...answers, unmodified };
}

const DEFAULT = TestApp.forAll();
let expected: Record<string, Answer>;
beforeAll(async () => {
  expected = await usePlants(DEFAULT);
});

/** What must not differ: the date and the id of an answer do. */
function describeAnswers(answers: Record<string, Answer>): object {
  return Object.fromEntries(
    Object.entries(answers).map(([name, { status, text, headers }]) => [
      name,
      [status, text, headers.get('etag'), headers.get('link'), headers.get('content-type')],
    ]),
  );
}

@Module({
  providers: [
    { provide: APP_PIPE, useValue: new ValidationPipe({ whitelist: true, transform: true }) },
  ],
})
class ValidationModule {}

@Injectable()
class LoggingInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(tap(() => undefined));
  }
}

@Injectable()
class TimeoutInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      timeout(60_000),
      catchError((error: unknown) =>
        throwError(() => (error instanceof TimeoutError ? new RequestTimeoutException() : error)),
      ),
    );
  }
}

@Injectable()
class WrapInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<{ data: unknown }> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

/** As the CacheInterceptor of @nestjs/cache-manager. */
@Injectable()
class CacheInterceptor implements NestInterceptor {
  private readonly cached = new Map<string, unknown>();

  trackBy(context: ExecutionContext): string {
    const { method, originalUrl } = context.switchToHttp().getRequest<Request>();
    return `${method} ${originalUrl}`;
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const key = this.trackBy(context);
    if (this.cached.has(key)) return of(this.cached.get(key));
    return next.handle().pipe(tap((answer) => void this.cached.set(key, answer)));
  }
}

@Injectable()
class OverrideInterceptor implements NestInterceptor {
  intercept(): Observable<unknown> {
    return of(['overridden']);
  }
}

function provideInterceptor(useClass: new (...args: never[]) => NestInterceptor): object {
  @Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: useClass as never }] })
  class InterceptorModule {}
  return InterceptorModule;
}

/** Sets a ValidationPipe as a main.ts of Nest's documentation does. */
const setPipe: Parameters<typeof TestApp.configured>[0] = (nest) =>
  nest.useGlobalPipes(
    new ValidationPipe({ whitelist: true, transform: true, validateCustomDecorators: true }),
  );

describe.each<[string, () => TestApp]>([
  ['ValidationPipe', () => TestApp.forAll({}, ValidationModule)],
  ['ValidationPipe of useGlobalPipes()', () => TestApp.configured(setPipe)],
  ...[ClassSerializerInterceptor, LoggingInterceptor, TimeoutInterceptor, CacheInterceptor].map(
    (type): [string, () => TestApp] => [
      type.name,
      () => TestApp.forAll({}, provideInterceptor(type) as never),
    ],
  ),
])('a global %s', (_, start) => {
  const app = start();

  it('changes neither an answer nor what is stored', async () => {
    const answers = await usePlants(app);
    expect(describeAnswers(answers)).toEqual(describeAnswers(expected));
    expect(await app.rows()).toEqual(await DEFAULT.rows());
  });
});

class Cat {
  price = new Decimal(1250n, 2);
  notes = new JsonText('{"n":1.0}');
  id = 9007199254740993n;

  @Exclude()
  secret = 'a secret';
}

@Controller('kittens')
class KittensController {
  @Get()
  findAll(): Cat[] {
    return [new Cat()];
  }

  @Get('file')
  file(): StreamableFile {
    return new StreamableFile(Buffer.from('a file'), { type: 'text/csv' });
  }
}

@Module({ controllers: [KittensController] })
class KittensModule {}

describe('a global ClassSerializerInterceptor', () => {
  const app = TestApp.forAll(
    {},
    KittensModule,
    provideInterceptor(ClassSerializerInterceptor) as never,
  );

  it('leaves out what is excluded, and keeps exact values', async () => {
    const { text } = await app.get('/kittens');
    expect(text).toBe(`[{"price":12.50,"notes":{"n":1.0},"id":${BIG}}]`);
  });
});

describe('a global interceptor that wraps answers', () => {
  const app = TestApp.forAll({}, KittensModule, provideInterceptor(WrapInterceptor) as never);

  it('wraps JSON and pages, and leaves streams, statuses and headers as they are', async () => {
    const answers = await usePlants(app);
    const wrapped = Object.fromEntries(
      Object.entries(expected).map(([name, answer]) => {
        const isJson = answer.text !== '' && name !== 'lines' && name !== 'missing';
        return [name, isJson ? { ...answer, text: `{"data":${answer.text}}` } : answer];
      }),
    );
    expect(describeAnswers(answers)).toEqual(describeAnswers(wrapped));
    expect(await app.get('/kittens/file')).toMatchObject({ status: 200, text: 'a file' });
  });
});

describe('a global interceptor that does not call the handler', () => {
  const app = TestApp.forAll({}, provideInterceptor(OverrideInterceptor) as never);

  it('gives the answer', async () => {
    for (const path of ['/plants', '/plants/1', '/health/live']) {
      expect(await app.get(path)).toMatchObject({ status: 200, body: ['overridden'] });
    }
  });
});

import { describe, expect, it } from '@jest/globals';
import {
  Body,
  type CanActivate,
  Controller,
  DefaultValuePipe,
  type ExecutionContext,
  Get,
  Module,
  Next,
  Param,
  ParseArrayPipe,
  ParseFloatPipe,
  ParseIntPipe,
  Post,
  Query,
  UseGuards,
  ValidationPipe,
} from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import {
  IsBoolean,
  IsDate,
  IsEnum,
  IsInt,
  IsOptional,
  IsString,
  Validate,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import type { NextFunction, Request } from 'express';
import { IsInt64 } from 'durable-rest';
import { expectError } from 'durable-rest/testing';
import { recordLog } from '../support/record-log.js';
import { TestApp } from '../support/fixture-app.js';

@ValidatorConstraint({ async: true })
class IsKnown implements ValidatorConstraintInterface {
  validate(value: string): Promise<boolean> {
    return Promise.resolve(value !== 'unknown');
  }

  defaultMessage(): string {
    return '$property $value is not known';
  }
}

enum Order {
  Up = 1,
  Down,
}

class BedsQueryDto {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  page = 1;

  @IsOptional()
  @Transform(({ value }) => value === 'true')
  @IsBoolean()
  active?: boolean;

  @IsOptional()
  @Transform(({ value }) => (value as string).split(','))
  @IsString({ each: true })
  words?: string[];

  @IsOptional()
  @Transform(({ value }): unknown => (Array.isArray(value) ? value : [value]))
  @IsString({ each: true })
  tags?: string[];

  @IsOptional()
  @Transform(({ value }): unknown => (Array.isArray(value) ? value : [value]))
  @Type(() => Number)
  @IsInt({ each: true })
  sizes?: number[];

  @IsOptional()
  @Transform(({ value }) => (value as bigint) + 1n)
  @IsInt64()
  id?: bigint;

  @IsOptional()
  @Type(() => Date)
  @IsDate()
  since?: Date;

  @IsOptional()
  @IsEnum(Order)
  order?: Order;

  @IsOptional()
  @IsString()
  @Validate(IsKnown)
  kind?: string;
}

class WildcardDto {
  @IsString()
  path!: string;
}

@Controller('beds')
class BedsController {
  @Get('files/*path')
  findFile(@Param() { path }: WildcardDto): unknown {
    return { path };
  }

  @Get('one/:id')
  findOne(@Param('id') id: string): unknown {
    return { id };
  }

  @Get('pair/:bed/:row')
  findPair(@Param('bed') bed: string, @Param('row', ParseIntPipe) row: number): unknown {
    return { bed, row };
  }

  @Get('search')
  search(
    @Query('q') q: string,
    @Query('sort', new DefaultValuePipe('name')) sort: string,
    @Query('ids', new ParseArrayPipe({ items: Number, optional: true })) ids?: number[],
  ): unknown {
    return { q, sort, ids };
  }

  @Get('sums')
  sum(
    @Query('ids', new ParseArrayPipe({ items: Number, optional: true })) ids?: number[],
    @Query('weight', new ParseFloatPipe({ optional: true })) weight?: number,
    @Query('size', new ValidationPipe({ transform: true })) size?: number,
  ): unknown {
    return { ids, weight, size };
  }

  @Get('both')
  both(
    @Query() query: BedsQueryDto,
    @Query('extra') extra?: string,
    @Query('size', new ParseIntPipe({ optional: true })) size?: number,
  ): unknown {
    return { query, extra, size };
  }
}

class PageDto {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  page = 1;
}

@Controller('rows')
class RowsController {
  /** Leaves a request to the next handler. */
  @Get(':row')
  pass(@Query() _: PageDto, @Next() next: NextFunction): void {
    next();
  }

  @Get('all')
  findAll(@Query() query: PageDto): unknown {
    return query;
  }
}

@Module({ controllers: [BedsController, RowsController] })
class BedsModule {}

const app = TestApp.forAll({}, BedsModule);

it('a wildcard of a path is one text with slashes in a class', async () => {
  const { body } = await app.get('/beds/files/a/b,c');
  expect(body).toEqual({ path: 'a/b,c' });
});

describe('parameters as the documentation of Nest writes them', () => {
  it.each([
    ['one/7', { id: '7' }],
    ['one/007%20x', { id: '007 x' }],
    ['pair/a/3', { bed: 'a', row: 3 }],
    ['search?q=x%20y', { q: 'x y', sort: 'name' }],
    ['search', { sort: 'name' }],
    ['search?q=&sort=tag&ids=1,2&other=1', { q: '', sort: 'tag', ids: [1, 2] }],
    ['search?ids=1&ids=2', { sort: 'name', ids: [1, 2] }],
    ['search?q=a&q=b', { q: ['a', 'b'], sort: 'name' }],
    ['sums?ids=1,2&weight=1.5&size=3', { ids: [1, 2], weight: 1.5, size: 3 }],
    ['both?extra=a&extra=b', { query: { page: 1 }, extra: ['a', 'b'] }],
    ['both', { query: { page: 1 } }],
    ['both?page=2&extra=e&size=3', { query: { page: 2 }, extra: 'e', size: 3 }],
    ['both?active=true&words=a,b', { query: { page: 1, active: true, words: ['a', 'b'] } }],
    ['both?active=no&order=2', { query: { page: 1, active: false, order: 2 } }],
    ['both?since=2026-11-22', { query: { page: 1, since: '2026-11-22T00:00:00.000Z' } }],
    ['both?tags=a&tags=b', { query: { page: 1, tags: ['a', 'b'] } }],
    ['both?tags=a', { query: { page: 1, tags: ['a'] } }],
    ['both?sizes=1&sizes=2', { query: { page: 1, sizes: [1, 2] } }],
    ['both?kind=a', { query: { page: 1, kind: 'a' } }],
  ])('%s is read as %j', async (path, read) => {
    const { status, body } = await app.get(`/beds/${path}`);
    expect({ status, body }).toEqual({ status: 200, body: read });
  });

  it('are read again by the handler that gets a request from another one', async () => {
    expect(await app.get('/rows/all?page=3')).toMatchObject({ status: 200, body: { page: 3 } });
    expectError(await app.get('/rows/none?page=3'), 'NOT_FOUND');
  });

  it('gives a transform an exact integer', async () => {
    const { text } = await app.get('/beds/both?id=9007199254740992');
    expect(text).toContain('"id":9007199254740993');
  });

  it.each([
    'pair/a/9007199254740993',
    'sums?ids=1,9007199254740993',
    'sums?weight=9007199254740992.5',
    'sums?size=9007199254740993',
  ])('%s is refused by a pipe, since a number would be rounded', async (path) => {
    const message =
      'Validation failed (a number from -9007199254740991 to 9007199254740991 is expected)';
    expectError(await app.get(`/beds/${path}`), { error: 40099, message: '' }, message);
  });

  it.each([
    ['one/a%00', 'The path is not valid: id must not contain U+0000 or an unpaired surrogate'],
    ['search?q=%00', 'The query is not valid: q must not contain U+0000 or an unpaired surrogate'],
    ['search?q=%ff', 'The query is not valid: it is not percent-encoded UTF-8'],
    ['both?other=1', 'The query is not valid: "other" is not a parameter'],
    ['both?page=x', expect.stringContaining('The query is not valid: page must be an integer')],
    [
      'both?page=9007199254740993',
      expect.stringContaining('The query is not valid: page must be an integer'),
    ],
    ['both?page=1&page=2', 'The query is not valid: page is given more than once'],
    ['both?active=true&active=true', 'The query is not valid: active is given more than once'],
    ['both?words=a&words=b', 'The query is not valid: words could not be read'],
    [
      'both?sizes=1&sizes=x',
      'The query is not valid: each value in sizes must be an integer number',
    ],
    ['both?since=x', expect.stringContaining('since must be a date in the years 1 to 9999')],
    ['both?order=3', 'The query is not valid: order must be one of the following values: 1, 2'],
    ['both?kind=unknown', 'The query is not valid: kind unknown is not known'],
    ['both?id=x', expect.stringContaining('id must be an integer from')],
  ])('%s is refused: %s', async (path, message) => {
    expectError(await app.get(`/beds/${path}`), 'INVALID_PARAMETERS', message);
  });

  it.each([
    ['search', { name: 'q', required: false }],
    ['both', { name: 'words', schema: { type: 'string', pattern: String.raw`^[^\x00]*$` } }],
    ['both', { name: 'tags', schema: expect.objectContaining({ type: 'array' }) }],
  ])('of %s are documented as they are taken: %j', async (path, parameter) => {
    const { body } = await app.get('/openapi.json');
    const { paths } = body as { paths: Record<string, { get: { parameters: object[] } }> };
    const { parameters = [] } = paths[`/beds/${path}`]?.get ?? {};
    expect(parameters).toContainEqual(expect.objectContaining(parameter));
  });
});

/** Reads the body as `AuthGuard('local')` of @nestjs/passport does. */
class PasswordGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { body } = context.switchToHttp().getRequest<Request>() as { body?: SignInDto };
    return body?.password === 'changeme';
  }
}

class SignInDto {
  @IsString() password!: string;
}

@UseGuards(PasswordGuard)
@Controller('sessions')
class SessionsController {
  @Post()
  create(@Body() { password }: SignInDto): string {
    return `signed in with ${password}`;
  }

  @Post('unread')
  createUnread(): string {
    return 'signed in';
  }
}

@Module({ controllers: [SessionsController] })
class SessionsModule {}

describe('a guard that reads request.body', () => {
  const app = TestApp.forAll({}, SessionsModule);

  it('gets it if the handler has a @Body()', async () => {
    const lines = recordLog(app, 'warn');
    expect(await app.post('/sessions', '{"password":"changeme"}')).toMatchObject({ status: 201 });
    expect(lines).toEqual([]);
  });

  it('is named once in the log if the handler has none', async () => {
    const lines = recordLog(app, 'warn');
    await app.post('/sessions/unread', '');
    expect(lines).toEqual([]);
    await app.post('/sessions/unread', '{"password":"changeme"}');
    await app.post('/sessions/unread', '{"password":"changeme"}');
    expect(lines).toEqual([expect.stringContaining('POST /sessions/unread: request.body')]);
  });
});

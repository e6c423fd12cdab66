import { describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  BadRequestException,
  Body,
  Catch,
  ConflictException,
  Controller,
  createParamDecorator,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpStatus,
  Injectable,
  Module,
  Param,
  Patch,
  Post,
  Query,
  Scope,
  type Type as ClassOf,
  UseFilters,
  UsePipes,
  ValidationPipe,
} from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import {
  IsDate,
  IsInt,
  IsOptional,
  IsString,
  Length,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import type { Request, Response } from 'express';
import { type BodyLines, IsInt64, Lines, MergePatch } from 'durable-rest';
import { type Answer, expectError } from 'durable-rest/testing';
import { TestApp } from '../support/fixture-app.js';

class NamedDto {
  @IsString()
  name!: string;
}

const FIRST = new ValidationPipe({ stopAtFirstError: true });

@Injectable({ scope: Scope.REQUEST })
class RequestPipe extends ValidationPipe {
  constructor() {
    super({ whitelist: true, forbidNonWhitelisted: true });
  }
}

function asModule(controller: ClassOf<object>): ClassOf<object> {
  @Module({ controllers: [controller] })
  class OneModule {}
  return OneModule;
}

@Controller('texts')
class TextController {
  @Post(':id')
  @UsePipes(FIRST)
  first(@Param('id') id: string, @Query('q') q: string, @Body() named: NamedDto): object {
    return { id, q, named };
  }

  @Post(':id/of-request')
  @UsePipes(RequestPipe)
  ofRequest(@Param('id') id: string, @Body() named: NamedDto): object {
    return { id, named };
  }

  @Post('class/:name')
  ofClass(@Param() path: NamedDto, @Body(FIRST) named: NamedDto): object {
    return { path, named };
  }
}

@Controller('pipes')
class PathAtHandler {
  @Post(':name')
  @UsePipes(FIRST)
  create(@Param() path: NamedDto, @Body() named: NamedDto): object {
    return { path, named };
  }
}

@Controller('pipes')
@UsePipes(FIRST)
class QueryAtController {
  @Get()
  find(@Query() query: NamedDto): object {
    return query;
  }
}

@Controller('pipes')
class QueryAtParameter {
  @Get()
  find(@Query(FIRST) query: NamedDto): object {
    return query;
  }
}

@Controller('pipes')
class PathAtParameter {
  @Get(':name')
  find(@Param(FIRST) path: NamedDto): object {
    return path;
  }
}

@Controller('pipes')
class QueryOfRequest {
  @Get()
  @UsePipes(RequestPipe)
  find(@Query() query: NamedDto): object {
    return query;
  }
}

@Controller('pipes')
class LinesOfRequest {
  @Post()
  @UsePipes(RequestPipe)
  import(@Lines(NamedDto) lines: BodyLines<NamedDto>): unknown {
    return lines;
  }
}

const NO_EFFECT = 'new ValidationPipe({ stopAtFirstError }): a path and a query are checked before';

it.each<[ClassOf<object>, string]>([
  [PathAtHandler, NO_EFFECT],
  [PathAtParameter, NO_EFFECT],
  [QueryAtController, NO_EFFECT],
  [QueryAtParameter, NO_EFFECT],
  [QueryOfRequest, 'RequestPipe: lines, a path and a query need pipes that exist at the start'],
  [LinesOfRequest, 'RequestPipe: lines, a path and a query need pipes that exist at the start'],
])('the start names a pipe that would have no effect: %p', async (controller, message) => {
  await expect(TestApp.start({}, asModule(controller))).rejects.toThrow(message);
});

describe('a ValidationPipe with options', () => {
  const app = TestApp.forAll({}, asModule(TextController));

  it.each([
    ['/texts/7?q=a', '{"name":"a"}', 201, { id: '7', q: 'a', named: { name: 'a' } }],
    ['/texts/7', '{"name":5}', 400, { error: 40099, message: 'name must be a string' }],
    ['/texts/7/of-request', '{"name":"a"}', 201, { id: '7', named: { name: 'a' } }],
    [
      '/texts/7/of-request',
      '{"name":"a","age":1}',
      400,
      { error: 40099, message: 'property age should not exist' },
    ],
    ['/texts/class/a', '{"name":"b"}', 201, { path: { name: 'a' }, named: { name: 'b' } }],
  ])('may stand beside texts, or at the body alone: %s with %s', async (path, sent, ...answer) => {
    const { status, body } = await app.post(path, sent);
    expect([status, body]).toEqual(answer);
  });
});

class CreateOwlDto {
  @IsInt64()
  id!: bigint;

  @IsString()
  @Length(2, 5)
  name!: string;

  @IsInt({ groups: ['counted'] })
  @Type(() => Number)
  count!: number;

  @IsOptional()
  @IsString({ always: true })
  note?: string;

  whole?: string;
}

/** Answers with what a handler got, and whether that is an instance of its class. */
function describeOwl(owl: CreateOwlDto): object {
  return { ...owl, isInstance: owl instanceof CreateOwlDto };
}

const OWL_PIPES: Readonly<Record<string, ValidationPipe>> = {
  plain: new ValidationPipe(),
  stripped: new ValidationPipe({ whitelist: true }),
  instance: new ValidationPipe({ transform: true, transformOptions: { exposeUnsetFields: false } }),
  status: new ValidationPipe({ errorHttpStatusCode: HttpStatus.UNPROCESSABLE_ENTITY }),
  factory: new ValidationPipe({
    exceptionFactory: (errors) => new ConflictException(errors.map(({ property }) => property)),
  }),
  first: new ValidationPipe({ stopAtFirstError: true }),
  silent: new ValidationPipe({ disableErrorMessages: true }),
  groups: new ValidationPipe({ groups: ['counted'], transform: true }),
  skips: new ValidationPipe({ skipMissingProperties: true }),
  expected: new ValidationPipe({ expectedType: NamedDto }),
  grouped: new ValidationPipe({ errorFormat: 'grouped' }),
  errors: new ValidationPipe({ exceptionFactory: (errors) => new BadRequestException(errors) }),
  objects: new ValidationPipe({
    exceptionFactory: (errors) =>
      new BadRequestException(errors.map(({ constraints }) => ({ reasons: constraints }))),
  }),
  extraneous: new ValidationPipe({
    transform: true,
    skipMissingProperties: true,
    transformOptions: { excludeExtraneousValues: true },
  }),
};

const OWL_CONTROLLERS = Object.entries(OWL_PIPES).map(([path, pipe]) => {
  @Controller(`owls/${path}`)
  class OwlsController {
    @Post()
    @UsePipes(pipe)
    create(@Body() owl: CreateOwlDto): object {
      return describeOwl(owl);
    }
  }
  return OwlsController;
});

@Module({ controllers: OWL_CONTROLLERS })
class OwlsModule {}

const BIG = '9007199254740993';
const OWL = `{"id":${BIG},"name":"Tim","count":3,"other":1}`;

describe('a ValidationPipe at a handler does what Nest documents:', () => {
  const app = TestApp.forAll({}, OwlsModule);

  it.each([
    ['plain', OWL, 201, `{"id":${BIG},"name":"Tim","count":3,"other":1,"isInstance":false}`],
    ['stripped', OWL, 201, `{"id":${BIG},"name":"Tim","count":3,"isInstance":false}`],
    ['instance', OWL, 201, `{"id":${BIG},"name":"Tim","count":3,"other":1,"isInstance":true}`],
    ['skips', '{"id":1}', 201, '{"id":1,"isInstance":false}'],
    ['groups', '{"id":1,"name":"x","count":3,"note":""}', 201, '"isInstance":true'],
    ['extraneous', OWL, 201, '{"isInstance":true}'],
    ['expected', '{"name":"Tim"}', 201, '{"name":"Tim","isInstance":false}'],
    ['plain', '{"id":1,"name":"x"}', 400, '"error":40099,"message":"name must be longer'],
    [
      'plain',
      '{"id":9223372036854775808,"name":"Tim"}',
      400,
      '"error":40099,"message":"id must be',
    ],
    ['plain', '{"id":1.5,"name":"Tim"}', 400, '"error":40099,"message":"id must be'],
    ['status', '{"id":1,"name":5}', 422, '"error":42299,"message":"name must be longer'],
    ['factory', '{"id":"a","name":5}', 409, '"error":40999,"message":"id; name; count"'],
    ['grouped', '{"id":1,"name":"x"}', 400, '"error":40099,"message":"name must be longer'],
    ['errors', '{"id":1,"name":"x"}', 400, '"error":40099,"message":"name must be longer'],
    ['objects', '{"id":1,"name":"x"}', 400, '"error":40099,"message":"name must be longer'],
    ['silent', '{"id":1,"name":5}', 400, '"error":40099,"message":"Bad Request"'],
    ['groups', `{"count":${BIG}}`, 400, '"error":40099,"message":"count must be an integer'],
    ['groups', `{"count":"${BIG}"}`, 400, '"error":40099,"message":"count must be an integer'],
    [
      'plain',
      '{"id":1,"name":"Tim","other":1,"other":2}',
      400,
      '"error":40002,"message":"The body',
    ],
    ['plain', '{"id":1,"name":"\\ud800","count":1}', 400, 'name must not contain U+0000'],
    ['plain', '[]', 400, '"error":40002'],
    ['plain', '{', 400, '"error":40001'],
  ])('%s gets %s', async (path, sent, status, text) => {
    const answer = await app.post(`/owls/${path}`, sent);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(text)]);
  });

  it('stops at the first error of a member', async () => {
    const all = await app.post('/owls/plain', '{"id":1,"name":5}');
    const first = await app.post('/owls/first', '{"id":1,"name":5}');
    const count = ({ body }: Answer): number =>
      (body as { readonly message: string }).message.split(';').length;
    expect([count(all), count(first)]).toEqual([3, 2]);
  });

  it('never gets more values than the libraries take in a short time', async () => {
    const many = JSON.stringify({ other: Array.from({ length: 5_000 }, () => ({})) });
    expectError(
      await app.post('/owls/plain', many),
      'INVALID_BODY',
      expect.stringContaining('3000'),
    );
  });
});

class PartDto {
  @IsString()
  kind!: string;
}

class WheelDto extends PartDto {
  @IsInt()
  size!: number;
}

class ToyDto {
  @IsOptional()
  @Type(() => Date)
  @IsDate()
  since?: Date;

  @IsOptional()
  @IsString()
  @ValidateBy({
    name: 'isNotBug',
    validator: {
      validate: (value) => {
        if ((value as string).trim() === 'bug') throw new Error('a bug of the author');
        return true;
      },
    },
  })
  word?: string;

  @IsOptional()
  @ValidateNested()
  @Type(() => PartDto, {
    discriminator: { property: 'kind', subTypes: [{ name: 'wheel', value: WheelDto }] },
    keepDiscriminatorProperty: true,
  })
  part?: PartDto;

  @IsOptional()
  @IsInt({ groups: ['sized'] })
  size?: number;

  @IsOptional()
  @ValidateNested({ groups: ['sized'] })
  @Type(() => NamedDto)
  maker?: NamedDto;
}

class ToyPatchDto extends MergePatch(NamedDto) {
  @IsOptional()
  @Transform(({ value }) => (value as string).trim())
  @IsString()
  note?: string | null;
}

class NoToyError extends Error {}

@Catch(NoToyError)
class NoToyFilter implements ExceptionFilter {
  catch({ message }: NoToyError, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(HttpStatus.CONFLICT).json({ message });
  }
}

@Controller('toys')
class ToysController {
  @Post('white')
  @UsePipes(new ValidationPipe({ whitelist: true }))
  white(@Body() toy: ToyDto): ToyDto {
    return toy;
  }

  @Post('groups')
  @UsePipes(new ValidationPipe({ groups: ['other'] }))
  groups(@Body() toy: ToyDto): ToyDto {
    return toy;
  }

  @Post('filtered')
  @UseFilters(NoToyFilter)
  @UsePipes(new ValidationPipe({ exceptionFactory: () => new NoToyError('not a toy') }))
  filtered(@Body() toy: ToyDto): ToyDto {
    return toy;
  }

  @Patch()
  @UsePipes(new ValidationPipe({ transform: true }))
  change(@Body() patch: ToyPatchDto): ToyPatchDto {
    return patch;
  }
}

describe('behind a ValidationPipe', () => {
  const app = TestApp.forAll({}, asModule(ToysController));

  it.each([
    ['{"since":9007199254740993}', 'since must be a Date instance'],
    ['{"word":5}', 'word must be a string'],
    ['{"part":{"kind":"star"}}', 'part must have one of the following values as kind: wheel'],
  ])('%s, for which a library fails, is refused: %s', async (sent, message) => {
    expectError(await app.post('/toys/white', sent), { error: 40099, message: '' }, message);
  });

  it('a bug of a rule is one', async () => {
    expectError(await app.post('/toys/white', '{"word":"bug"}'), 'INTERNAL');
  });

  it('values that no rule concerns stay as they were sent', async () => {
    const sent = '{"size":{"a":[1,{"b":null}]},"maker":[{"name":"a","other":[2]}]}';
    expect(await app.post('/toys/groups', sent)).toMatchObject({ status: 201, text: sent });
  });

  it('a filter gets the exception that the pipe makes', async () => {
    const answer = await app.post('/toys/filtered', '{"part":"x"}');
    expect(answer).toMatchObject({ status: 409, body: { message: 'not a toy' } });
  });

  it('a merge patch transforms no null', async () => {
    const answer = await app.patch('/toys', '{"note":null}');
    expect(answer).toMatchObject({ status: 200, text: '{"note":null}' });
  });
});

const STRICT = new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true });

class BaseController {
  @Post()
  create(@Body() named: NamedDto): NamedDto {
    return named;
  }
}

@Controller('usual')
class UsualController extends BaseController {}

@Controller('strict')
@UsePipes(STRICT)
class StrictController extends BaseController {}

@Controller('twice')
@UsePipes(new ValidationPipe({ transform: true }))
class TwiceController {
  @Post()
  @UsePipes(STRICT)
  create(@Body() named: NamedDto): NamedDto {
    return named;
  }
}

@Module({ controllers: [UsualController, StrictController, TwiceController] })
class PipesModule {}

describe.each<[string, () => TestApp]>([
  ['alone', () => TestApp.forAll({}, PipesModule)],
  [
    'after one for all handlers',
    () =>
      TestApp.configured(
        (nest) => nest.useGlobalPipes(new ValidationPipe({ transform: true })),
        PipesModule,
      ),
  ],
])('a ValidationPipe %s', (_, start) => {
  const app = start();

  it.each([
    ['/usual', '{"name":"a","age":1}', 201],
    ['/usual', '{"name":5}', 400],
    ['/strict', '{"name":"a"}', 201],
    ['/strict', '{"name":"a","age":1}', 400],
    ['/twice', '{"name":"a"}', 201],
    ['/twice', '{"name":"a","age":1}', 400],
  ])('checks the bodies of its own controller: %s with %s', async (path, sent, status) => {
    expect(await app.post(path, sent)).toMatchObject({ status });
  });
});

/** An instance, as a guard may put it into the request. */
const Owner = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const { headers } = context.switchToHttp().getRequest<Request>();
  return Object.assign(new NamedDto(), JSON.parse(String(headers['x-owner'])) as NamedDto);
});

@Controller('owners')
class OwnersController {
  @Get()
  find(@Owner(new ValidationPipe({ validateCustomDecorators: true })) owner: NamedDto): object {
    return owner;
  }
}

describe('validateCustomDecorators', () => {
  const app = TestApp.forAll({}, asModule(OwnersController));

  it.each([
    ['{"name":"a"}', 200],
    ['{"name":5}', 400],
  ])('checks an instance too: %s', async (owner, status) => {
    expect(await app.get('/owners', { 'X-Owner': owner })).toMatchObject({ status });
  });
});

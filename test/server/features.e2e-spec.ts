import { describe, expect, it } from '@jest/globals';
import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  DefaultValuePipe,
  Get,
  HttpException,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Put,
  Query,
  Res,
  ServiceUnavailableException,
  UnauthorizedException,
} from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsInt, IsNumber, IsOptional, Max, Min } from 'class-validator';
import type { Express, Response } from 'express';
import {
  ApiCreated,
  ApiTag,
  ErrorCatalogue,
  IdDto,
  IsInt64,
  IsOptionalNotNull,
  IsText,
} from 'durable-rest';
import { expectError } from 'durable-rest/testing';
import { NurseryApp } from '../../examples/nursery/test/nursery-app.js';
import { TestApp } from '../support/fixture-app.js';
import { lintDocument } from '../support/lint-document.js';

/** The exception of a handler, with the error, the message and the Retry-After of the answer. */
type Failure = readonly [
  thrown: () => unknown,
  error: number,
  message: string,
  retryAfter: string | null,
];

const { INTERNAL } = ErrorCatalogue;

// A Retry-After of the handler, which all but "anyhow" set, wins. A 503 always has one.
const FAILURES: Readonly<Record<string, Failure>> = {
  'missing-anyhow': [() => new NotFoundException(), 40499, 'Not Found', null],
  bad: [() => new BadRequestException(['a is bad', 'b is bad']), 40099, 'a is bad; b is bad', '17'],
  taken: [() => new ConflictException('the name is taken'), 40999, 'the name is taken', '17'],
  // Nest wraps errors of http-errors like this.
  'of-express': [
    () =>
      new HttpException('a secret', 413, {
        cause: Object.assign(new Error('a secret'), { expose: true, statusCode: 413 }),
      }),
    41399,
    'Payload Too Large',
    '17',
  ],
  shy: [() => new HttpException(new Error('a secret'), 404), 40499, 'Not Found', '17'],
  unauthorized: [() => new UnauthorizedException('it is over'), 40199, 'it is over', '17'],
  'later-anyhow': [() => new ServiceUnavailableException(), 50399, 'Service Unavailable', '1'],
  redirect: [() => new HttpException('a secret', 302), 50000, INTERNAL.message, '17'],
  bug: [() => new TypeError('a secret'), 50000, INTERNAL.message, '17'],
};

class FailurePath {
  @IsIn(Object.keys(FAILURES))
  name!: string;
}

class ExampleQuery {
  @IsInt()
  @Min(1)
  @Max(1000)
  limit = 100;

  @IsOptionalNotNull()
  @IsInt64()
  after?: bigint;

  @IsOptionalNotNull()
  @IsText()
  tag?: string;

  @IsOptional()
  @IsBoolean()
  isOpen?: boolean;

  @IsOptional()
  @IsNumber()
  size?: number;
}

class Seed {
  @IsInt64()
  id!: bigint;
}

class Word {
  @IsText()
  id!: string;
}

@ApiTag('examples', 'Examples of all that a feature may do')
@Controller('examples')
class ExampleController {
  @Get()
  @ApiOperation({ operationId: 'listExamples', summary: 'List examples' })
  @ApiOkResponse({ description: 'What was asked for', type: [ExampleQuery] })
  list(@Query() query: ExampleQuery): ExampleQuery[] {
    return [query];
  }

  @Post()
  @ApiOperation({ operationId: 'createExample', summary: 'Create an example' })
  @ApiCreated(Seed, 'The example')
  create(@Body() seed: Seed): Seed {
    return seed;
  }

  @Post('words')
  @ApiOperation({ operationId: 'createWord', summary: 'Create a word' })
  @ApiCreated(Word, 'The word')
  createWord(@Body() word: Word): Word {
    return word;
  }

  @Get('plain')
  @ApiOperation({ operationId: 'readPlain', summary: 'Read an answer of no class' })
  plain(): object {
    return { list: [{ id: 9007199254740993n }], date: new Date(0), none: undefined };
  }

  @Get('numbers/:number')
  @ApiOperation({ operationId: 'multiply', summary: 'Multiply two numbers' })
  number(
    @Param('number', ParseIntPipe) number: number,
    @Query('factor', new DefaultValuePipe(1), ParseIntPipe) factor: number,
  ): object {
    return { product: number * factor };
  }

  @Get('failures/:name')
  @ApiOperation({ operationId: 'fail', summary: 'Fail' })
  fail(@Res({ passthrough: true }) response: Response, @Param() { name }: FailurePath): never {
    if (!name.endsWith('anyhow')) response.setHeader('Retry-After', '17');
    throw FAILURES[name]?.[0]();
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readExample', summary: 'Read an example' })
  read(@Param() { id }: IdDto, @Query() query: ExampleQuery): object {
    return { id, query };
  }
}

@Module({ controllers: [ExampleController] })
class ExampleModule {}

const MAX = '9223372036854775807';
const INT64 = 'must be an integer from -9223372036854775808 to 9223372036854775807';

/** The routes of the platform that need no token, beside the files of the documentation. */
const PUBLIC = ['GET /', 'GET /docs', 'GET /openapi.json', 'GET /health/live', 'GET /health/ready'];
/** Operations that need a token, and are for operators rather than for clients. */
const OPERATIONS = ['GET /metrics'];

const app = TestApp.forAll({ CHANGE_FEED: 'on' }, ExampleModule);
const nursery = NurseryApp.forAll();

describe('a query', () => {
  it('is decoded, and read as the class says', async () => {
    const query = `%6Cimit=1000&tag=a+b%2Bc%20d%F0%9F%8C%BF%26%3D?/=&isOpen=true&size=-1.50&after=${MAX}&`;
    const read = `{"limit":1000,"after":${MAX},"tag":"a b+c d🌿&=?/=","isOpen":true,"size":-1.5}`;
    expect(await app.get(`/examples?${query}`)).toMatchObject({ text: `[${read}]` });
    const initial = '[{"limit":100,"tag":""}]';
    expect(await app.get('/examples?tag=')).toMatchObject({ text: initial });
  });

  it.each([
    ['?size=Infinity', 'size must be a number'],
    ['?tag=a&t%61g=b&tag=c', 'tag is given more than once'],
    ['?tag=%ED%A0%80', 'it is not percent-encoded UTF-8'],
    [
      '?limit=0&%22=1&tag=%00&%22=2&after=1.0&isOpen=true&isOpen=true',
      String.raw`"\"" is not a parameter; tag must not contain U+0000 or an unpaired surrogate; limit must not be less than 1; after ${INT64}; isOpen is given more than once`,
    ],
  ])('%s is refused: %s', async (query, fault) => {
    const message = expect.stringContaining(`The query is not valid: ${fault}`);
    expectError(await app.get(`/examples${query}`), 'INVALID_PARAMETERS', message);
  });

  it('gets a message of bounded length', async () => {
    const names = Array.from({ length: 2_500 }, (_, index) => index.toString(36));
    const { status, text } = await app.get(`/examples?${names.join('&')}`);
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(/; and more"}$/);
  });
});

it('the faults of a path and a query are named together', async () => {
  const message = `The path is not valid: id ${INT64}. The query is not valid: limit must not be less than 1`;
  expectError(await app.get('/examples/x?limit=0'), 'INVALID_PARAMETERS', message);
});

it.each([
  ['/examples', `{"id":${MAX}}`, `/examples/${MAX}`],
  ['/examples/words', '{"id":"a/b?c d"}', '/examples/words/a%2Fb%3Fc%20d'],
])('a row that POST %s creates has its address in Location: %s', async (path, body, address) => {
  const created = await app.post(path, body);
  expect(created).toMatchObject({ status: 201, text: body });
  expect(created.headers.get('location')).toBe(address);
});

it('an answer of no class has exact integers', async () => {
  const { text, headers } = await app.get('/examples/plain');
  expect(text).toBe('{"list":[{"id":9007199254740993}],"date":"1970-01-01T00:00:00.000Z"}');
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
});

it("Nest's own pipes convert single parameters, and refuse them with 40099", async () => {
  expect((await app.get('/examples/numbers/-7?factor=3')).body).toEqual({ product: -21 });
  expect((await app.get('/examples/numbers/7?other=1')).body).toEqual({ product: 7 });
  const message = 'Validation failed (numeric string is expected)';
  for (const path of ['x', '1?factor=x']) {
    const answer = await app.get(`/examples/numbers/${path}`);
    expectError(answer, { error: 40099, message: '' }, message);
  }
});

it.each(Object.entries(FAILURES))(
  "an exception of Nest's own is answered in the Error shape: %s",
  async (name, [, error, message, retryAfter]) => {
    const answer = await app.get(`/examples/failures/${name}`);
    expectError(answer, { error, message }, message);
    expect(answer.headers.get('retry-after')).toBe(retryAfter);
    if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  },
);

it('the start fails if a class of a feature has the name of another in the document', async () => {
  class Plant {
    @IsText()
    colour!: string;
  }
  @Controller('others')
  class OtherController {
    @Put()
    replace(@Body() body: Plant): Plant {
      return body;
    }
  }
  @Module({ controllers: [OtherController] })
  class OtherModule {}
  const start = TestApp.start({}, OtherModule);
  await expect(start).rejects.toThrow(/ are both documented as Plant: /);
});

it('the OpenAPI document has the tags of features in their order', async () => {
  const { body } = await app.request('GET', '/openapi.json');
  const { tags } = body as { tags: { name: string; description: string }[] };
  const names = tags.map(({ name }) => name);
  expect(names).toEqual(names.toSorted());
  const description = 'Examples of all that a feature may do';
  expect(tags).toContainEqual({ name: 'examples', description });
});

it('every route is in the document, unless it is listed here, and needs a token as documented', async () => {
  const { body } = await app.request('GET', '/openapi.json');
  const { paths } = body as { paths: Record<string, Record<string, { security: unknown[] }>> };
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { security }]) => {
      return { name: `${method.toUpperCase()} ${path}`, isPublic: security.length === 0 };
    }),
  );
  expect(documented.filter(({ isPublic }) => isPublic)).toEqual([]);
  const { router }: Express = app.nest.getHttpAdapter().getInstance();
  const closed: string[] = [];
  for (const { route } of router.stack) {
    for (const { method } of (route?.stack ?? []) as { method?: string }[]) {
      const path = route?.path ?? '';
      const name = `${method?.toUpperCase() ?? ''} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
      // Those without a method answer 405.
      if (method === undefined || PUBLIC.includes(name) || path.startsWith('/docs/')) continue;
      const asked = path.replaceAll(/:\w+/g, '1');
      expect([name, (await app.request(method.toUpperCase(), asked)).status]).toEqual([name, 401]);
      closed.push(name);
    }
  }
  const wanted = documented.map(({ name }) => name);
  expect(closed.sort()).toEqual([...wanted, ...OPERATIONS].sort());
});

it.each([
  ['the program with features', app],
  ['the nursery', nursery],
])('Redocly finds no fault in the OpenAPI document of %s', async (_, one) => {
  expect(await lintDocument(one)).toEqual([]);
});

it('a fault of an OpenAPI document is one line that says what to write', async () => {
  @Controller('bare')
  class BareController {
    @Get()
    bare(): string {
      return 'without a summary';
    }
  }
  @Module({ controllers: [BareController] })
  class BareModule {}
  const bare = await TestApp.start({}, BareModule);
  expect(await lintDocument(bare)).toEqual([
    "#/paths/~1bare/get/summary: Operation object should contain `summary` field. Write @ApiOperation({ summary: '...' }) at the handler",
  ]);
  await bare.close();
});

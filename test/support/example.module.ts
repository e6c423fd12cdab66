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
  Put,
  Query,
  Res,
  ServiceUnavailableException,
  UnauthorizedException,
} from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import type { Response } from 'express';
import { Public, RequireScopes } from '../../src/platform/auth/auth.decorators.js';
import type { JsonText } from '../../src/platform/json/json-text.js';
import { ApiTag } from '../../src/platform/rest/api.decorators.js';
import {
  IsInstant,
  IsInt64,
  IsJson,
  IsOptionalNotNull,
  IsText,
} from '../../src/platform/validation/types.decorators.js';

// A feature with a parameter, a member and an error of each kind, for tests of the platform.

/** The errors to throw, by the last part of the path. */
const FAILURES: Readonly<Record<string, () => unknown>> = {
  'missing-anyhow': () => new NotFoundException(),
  bad: () => new BadRequestException(['a is bad', 'b is bad']),
  taken: () => new ConflictException('the name is taken'),
  // Nest wraps errors of http-errors like this.
  'of-express': () =>
    new HttpException('a secret', 413, {
      cause: Object.assign(new Error('a secret'), { expose: true, statusCode: 413 }),
    }),
  shy: () => new HttpException(new Error('a secret'), 404),
  unauthorized: () => new UnauthorizedException('the session is over'),
  'later-anyhow': () => new ServiceUnavailableException(),
  redirect: () => new HttpException('a secret', 302),
  bug: () => new TypeError('a secret'),
};

export class ExampleQuery {
  @IsInt()
  @Min(1)
  @Max(1000)
  @ApiProperty({ description: 'How many at most' })
  limit = 100;

  @IsOptionalNotNull()
  @IsInt64()
  @ApiProperty({ description: 'The last id of the page before' })
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

  @IsOptional()
  @IsIn(['up', 'down'])
  order?: string;
}

export class ExamplePath {
  @IsInt64()
  @ApiProperty({ description: 'Identification number' })
  id!: bigint;
}

export class FailurePath {
  @IsIn(Object.keys(FAILURES))
  name!: string;
}

export class Seed {
  @IsInt64()
  id!: bigint;

  @IsOptionalNotNull()
  @IsInt()
  count?: number;

  @IsOptionalNotNull()
  @ValidateNested()
  @Type(() => Seed)
  parent?: Seed;
}

@ApiSchema({ name: 'Example' })
export class ExampleBody {
  @ValidateNested()
  @Type(() => Seed)
  seed!: Seed;

  @ArrayMaxSize(40_000)
  @ValidateNested({ each: true })
  @Type(() => Seed)
  seeds: Seed[] = [];

  @IsOptionalNotNull()
  @IsInt64({ each: true })
  ids?: bigint[];

  @IsOptionalNotNull()
  @IsJson()
  anything?: JsonText;
}

/** Only an answer. */
export class Harvest {
  @IsIn(['good', 'bad'])
  quality!: 'good' | 'bad';

  @IsInstant()
  at!: string;

  @IsText({ maxLength: 9 })
  @ApiProperty({ example: 'apples' })
  what!: string;

  @ValidateNested({ each: true })
  @Type(() => Seed)
  seeds!: Seed[];
}

@ApiTag('examples', 'Examples of all that a feature may do')
@Controller('examples')
export class ExampleController {
  @Get()
  @ApiOperation({ operationId: 'listExamples', summary: 'List examples' })
  @ApiOkResponse({ description: 'What was asked for', type: [ExampleQuery] })
  list(@Query() query: ExampleQuery): ExampleQuery[] {
    return [query];
  }

  @Get('plain')
  @RequireScopes('examples:plain')
  @ApiOperation({ operationId: 'readPlain', summary: 'Read an answer of no class' })
  plain(): object {
    return { list: [{ id: 9007199254740993n }], date: new Date(0), none: undefined };
  }

  @Get('harvest')
  @Public()
  @ApiOperation({ operationId: 'readHarvest', summary: 'Read an answer of a class' })
  @ApiOkResponse({ description: 'The harvest', type: Harvest })
  harvest(): Harvest {
    return { quality: 'good', at: '2026-11-22T10:00:00.000Z', what: 'apples', seeds: [] };
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
    throw FAILURES[name]?.();
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readExample', summary: 'Read an example' })
  read(@Param() path: ExamplePath): ExamplePath {
    return path;
  }

  @Put(':id')
  @ApiOperation({ operationId: 'replaceExample', summary: 'Replace an example' })
  replace(
    @Param() { id }: ExamplePath,
    @Query() query: ExampleQuery,
    @Body() body: ExampleBody,
  ): object {
    return { id, query, body };
  }
}

@Module({ controllers: [ExampleController] })
export class ExampleModule {}

import { beforeAll, expect, it } from '@jest/globals';
import { Body, Controller, Delete, Module, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiNotFoundResponse, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  ArrayMinSize,
  ArrayNotEmpty,
  ArrayUnique,
  Contains,
  Equals,
  IsArray,
  IsDate,
  IsDivisibleBy,
  IsEmail,
  IsEnum,
  IsIn,
  IsInt,
  IsIP,
  IsNotEmpty,
  IsNotIn,
  IsNumber,
  IsOptional,
  IsPositive,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  NotEquals,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import fc from 'fast-check';
import {
  ApiErrors,
  ApiOk,
  Decimal,
  ErrorCatalogue,
  IsCalendarDate,
  IsDecimal,
  IsInstant,
  IsInt32,
  IsInt64,
  IsJson,
  IsOptionalNotNull,
  IsText,
  IsUuid,
  JsonText,
  MergePatch,
} from 'durable-rest';
import { ApiDocument, type SchemaObject } from '../fuzz/api-document.js';
import { makeBody } from '../fuzz/schema.arbitrary.js';
import { TestApp } from '../support/fixture-app.js';

class PartDto {
  @IsInt32() size!: number;
  @IsOptional() @IsText() note?: string | null;
}

/** A member of each type and of each rule that JSON Schema can express. */
class EveryDto {
  @IsInt32() int32!: number;
  @IsInt64() int64!: bigint;
  @IsDecimal(6, 2) @ApiProperty({ description: 'The price' }) decimal!: Decimal;
  @IsText({ minLength: 1, maxLength: 4 }) text!: string;
  @IsCalendarDate() date!: string;
  @IsInstant() instant!: string;
  @IsUuid() uuid!: string;
  @IsJson() json!: JsonText;
  @Type(() => Date) @IsDate() moment!: Date;
  @IsString() @IsNotEmpty() @MinLength(2) @MaxLength(5) string!: string;
  @IsInt() @Min(3) @IsPositive() @Max(7) integer!: number;
  @IsNumber() number!: number;
  @IsInt() @IsDivisibleBy(5) fives!: number;
  @IsIn(['a', 'b']) word!: string;
  @IsString() @IsNotIn(['a', 'b']) other!: string;
  @IsInt() @Equals(3) three!: number;
  @IsString() @NotEquals('') notEmpty!: string;
  @Matches(/^a/) @Matches(/^ab?$/) twice!: string;
  @Contains('a.b') @Matches(/^a\.b$/) contained!: string;
  @Matches(/^[^a]+$/) without!: string;
  @Matches(/^[a-z\d]{1,4}$/) named!: string;
  @IsEmail() email!: string;
  @IsIP(4) address!: string;
  @IsString({ each: true }) @ArrayNotEmpty() @ArrayMinSize(2) @ArrayUnique() list!: string[];
  @IsInt64({ each: true }) int64s!: bigint[];
  @IsString({ each: true }) @Length(1, 3, { each: true }) short!: string[];
  @ValidateNested() @Type(() => PartDto) part!: PartDto;
  @IsArray() @ValidateNested({ each: true }) @Type(() => PartDto) parts!: PartDto[];
  @IsOptionalNotNull() @IsInt32() optional?: number;
  @IsOptional() @IsInt32() nullable?: number | null;
  @IsOptional() @IsText({ each: true }) nullableList?: string[] | null;
  @IsOptional() @IsJson() nullableJson?: JsonText | null;
  @ValidateIf((_, value) => value !== null) @IsText() own!: string | null;
  @IsOptional() @ValidateNested() @Type(() => PartDto) nullablePart?: PartDto | null;
  @ApiProperty({ oneOf: [{ type: 'string' }, { type: 'integer' }] }) @IsString() wide!: string;
}

/** Members with initial values. */
class InitialDto {
  @IsText() status = 'new';
  @IsDecimal(6, 2) price = new Decimal(1250n, 2);
  @IsDecimal(18, 2) exact = new Decimal(9_007_199_254_740_993n, 2);
  @IsInt64() count = 3n;
  @IsInt64() most = 9_223_372_036_854_775_807n;
  @IsJson() json = new JsonText('{"a":[1]}');
  @IsText({ each: true }) list = ['a'];
}

class EveryPatchDto extends MergePatch(EveryDto) {}
class InitialPatchDto extends MergePatch(InitialDto) {}

class QueryDto {
  @IsOptional() @IsText() @ApiPropertyOptional() name?: string;
  @IsOptional() @IsIn(['a', 'b']) word?: string;
  @IsOptional() @Matches(/^a/) @Matches(/^ab?$|^(c|d)$/) twice?: string;
  @IsOptional() @IsIn(['a', 1]) mixed?: string | number;
}

enum Role {
  Admin = 'Admin',
  User = 'User',
}
const toWords = ({ value }: { value: unknown }): unknown => (value as string).split(',');

/** Lists as the documentation of @nestjs/swagger and class-transformer has them. */
class ListsDto {
  @ApiProperty({ enum: Role, enumName: 'Role', isArray: true })
  @IsEnum(Role, { each: true })
  roles!: Role[];

  @ApiProperty({ enum: Role, enumName: 'Role' }) @IsEnum(Role) role!: Role;
  @ApiProperty({ enum: ['a', 'b'], isArray: true }) @IsString({ each: true }) words!: string[];
  @Transform(toWords) @IsString({ each: true }) @ArrayNotEmpty() split!: string[];
  @IsOptional() @Transform(toWords) @IsString({ each: true }) maybe?: string[] | null;

  @Transform(({ value }) => (typeof value === 'string' ? value.split(',') : (value as unknown)))
  @IsString({ each: true })
  either!: string[];

  @ApiProperty({ type: String, description: 'Words, with commas' })
  @Transform(toWords)
  @IsString({ each: true })
  @ArrayUnique()
  described!: string[];
}
class WrappedDto {
  @ValidateNested() @Type(() => ListsDto) lists!: ListsDto;
}
class AnsweredPartDto {
  @Transform(toWords) @IsString({ each: true }) words!: string[];
}
class AnsweredDto {
  @Transform(toWords) @IsString({ each: true }) words!: string[];
  @ValidateNested() @Type(() => AnsweredPartDto) part!: AnsweredPartDto;
}

class OwnErrorDto {
  @IsText() reason!: string;
}

const { NOT_FOUND, CONFLICT } = ErrorCatalogue;

@Controller('every')
class EveryController {
  @Post()
  @ApiOk(EveryDto, 'As it was sent')
  create(@Body() every: EveryDto): EveryDto {
    return every;
  }

  @Patch()
  @ApiOk(EveryPatchDto, 'As it was sent')
  change(@Body() every: EveryPatchDto): EveryPatchDto {
    return every;
  }

  @Post('initial')
  @ApiOk(InitialDto, 'As it was sent')
  @ApiErrors(NOT_FOUND)
  @ApiErrors(CONFLICT)
  initial(@Body() initial: InitialDto): InitialDto {
    return initial;
  }

  @Patch('initial')
  @ApiOk(InitialPatchDto, 'As it was sent')
  @ApiErrors(NOT_FOUND)
  @ApiNotFoundResponse({ description: 'A reason', type: OwnErrorDto })
  changeInitial(@Body() initial: InitialPatchDto, @Query() query: QueryDto): object {
    return { ...initial, ...query };
  }
}

@Controller('lists')
class ListsController {
  @Post()
  create(@Body() { lists }: WrappedDto): object {
    return lists;
  }

  @Patch()
  @ApiOk(AnsweredDto, 'As it was read')
  change(@Body() answered: AnsweredDto): AnsweredDto {
    return answered;
  }

  @Put('star')
  star(): void {
    // Nothing is replaced.
  }

  @Delete()
  remove(): void {
    // A retry answers the same.
  }
}

@Module({ controllers: [EveryController, ListsController] })
class EveryModule {}

const app = TestApp.forAll({}, EveryModule);
let document: ApiDocument;

beforeAll(async () => {
  document = await ApiDocument.load(app.url);
});

const ref = (name: string): SchemaObject => ({ $ref: `#/components/schemas/${name}` });

it.each(['POST', 'PATCH'])(
  'a %s takes whatever the document allows, and answers what it says',
  async (method) => {
    const operation = document.find(method, '/every');
    const schema = operation?.bodies.get('application/json') ?? {};
    const validate = operation?.answers.get(200)?.get('application/json');
    const bodies = makeBody(schema, document).filter((body) => document.allows(schema, body));
    const property = fc.asyncProperty(bodies, async (body) => {
      const answer = await (method === 'POST'
        ? app.post('/every', JSON.stringify(body))
        : app.patch('/every', JSON.stringify(body)));
      expect(answer).toMatchObject({ status: 200 });
      validate?.(answer.body);
      expect(validate?.errors).toBeNull();
    });
    await fc.assert(property, { seed: 20_261_126, numRuns: 150 });
  },
);

const most = Number.MAX_SAFE_INTEGER;
const NULL = { type: 'null' };
const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: { type: 'string' } };

it.each([
  [
    'EveryDto',
    'decimal',
    { type: 'number', description: 'The price (at most 2 digits after the point)' },
  ],
  ['EveryDto', 'string', { type: 'string', minLength: 2, maxLength: 5 }],
  ['EveryDto', 'integer', { minimum: 3, maximum: 7 }],
  ['EveryDto', 'other', { type: 'string', not: { enum: ['a', 'b'] } }],
  ['EveryDto', 'three', { type: 'integer', const: 3 }],
  ['EveryDto', 'notEmpty', { type: 'string', not: { const: '' } }],
  ['EveryDto', 'twice', { pattern: '^ab?$', allOf: [{ pattern: '^a' }, TEXT] }],
  [
    'EveryDto',
    'contained',
    { pattern: String.raw`^a\.b$`, allOf: [{ pattern: String.raw`a\.b` }, TEXT] },
  ],
  [
    'EveryDto',
    'without',
    { pattern: '^[^a]+$', allOf: [{ pattern: String.raw`^[^\x00]*$` }, TEXT] },
  ],
  ['EveryDto', 'list', { type: 'array', minItems: 2, uniqueItems: true }],
  ['EveryDto', 'optional', { type: 'integer' }],
  ['EveryDto', 'nullable', { type: ['integer', 'null'] }],
  ['EveryDto', 'nullableList', { type: ['array', 'null'] }],
  ['EveryDto', 'own', { type: ['string', 'null'] }],
  ['EveryDto', 'nullablePart', { anyOf: [ref('PartDto'), NULL] }],
  ['EveryDto', 'wide', { type: 'string' }],
  ['EveryPatchDto', 'optional', { type: ['integer', 'null'] }],
  ['EveryPatchDto', 'nullableList', { type: ['array', 'null'] }],
  ['EveryPatchDto', 'integer', { type: 'integer' }],
  ['ListsDto', 'roles', { type: 'array', items: ref('Role') }],
  ['ListsDto', 'role', { allOf: [ref('Role')] }],
  ['ListsDto', 'words', { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }],
  ['ListsDto', 'split', TEXT],
  ['ListsDto', 'maybe', { type: ['string', 'null'] }],
  ['ListsDto', 'either', TEXTS],
  ['ListsDto', 'described', { ...TEXT, description: 'Words, with commas' }],
  ['AnsweredDto', 'words', TEXTS],
  ['AnsweredPartDto', 'words', TEXTS],
  ['Role', undefined, { type: 'string', enum: ['Admin', 'User'] }],
  ['InitialDto', 'status', { default: 'new' }],
  ['InitialDto', 'price', { type: 'number', default: 12.5 }],
  ['InitialDto', 'count', { default: 3 }],
  ['InitialDto', 'json', { default: { a: [1] } }],
  ['InitialDto', 'list', { type: 'array', default: ['a'] }],
] as [name: string, member: string | undefined, schema: object][])(
  'the document says of %s.%s: %j',
  (name, member, schema) => {
    const resolved = document.resolve(ref(name));
    expect(member === undefined ? resolved : resolved.properties?.[member]).toMatchObject(schema);
  },
);

it.each([
  ['EveryDto', 'decimal', 'multipleOf'],
  ['EveryDto', 'named', 'allOf'],
  ['ListsDto', 'split', 'items'],
  ['ListsDto', 'split', 'minItems'],
  ['ListsDto', 'described', 'items'],
  ['ListsDto', 'described', 'uniqueItems'],
  ['InitialDto', 'exact', 'default'],
  ['InitialDto', 'most', 'default'],
  ...Object.keys(new InitialDto()).map((member) => ['InitialPatchDto', member, 'default']),
])('the document says of %s.%s no %s', (name = '', member = '', keyword = '') => {
  expect(document.resolve(ref(name)).properties?.[member]).not.toHaveProperty([keyword]);
});

it.each([
  ['PATCH', '/lists'],
  ['PUT', '/lists/star'],
  ['DELETE', '/lists'],
])(
  'the document claims nothing about %s %s that the handler does not say',
  async (method, path) => {
    const { body } = await app.get('/openapi.json');
    expect(body).not.toHaveProperty(['paths', path, method.toLowerCase(), 'description']);
  },
);

it('an optional parameter is no null', () => {
  const { parameters } = document.find('PATCH', '/every/initial') ?? {};
  expect(parameters?.map(({ name, schema }) => [name, schema])).toEqual([
    ['name', { type: 'string', pattern: String.raw`^[^\x00]*$` }],
    ['word', { type: 'string', enum: ['a', 'b'] }],
    ['twice', { pattern: '^ab?$|^(c|d)$', allOf: [{ pattern: '^a' }, TEXT], ...TEXT }],
    [
      'mixed',
      {
        oneOf: [
          { type: 'string', enum: ['a'] },
          { type: 'number', enum: [1] },
        ],
      },
    ],
  ]);
});

it.each([
  ['POST', 404, 'application/json', ref('Error')],
  ['POST', 409, 'application/json', ref('Error')],
  ['PATCH', 404, 'application/json', ref('OwnErrorDto')],
])('the response of %s initial for %i is documented', async (method, status, type, schema) => {
  const { body } = await app.get('/openapi.json');
  expect(body).toHaveProperty(
    [
      'paths',
      '/every/initial',
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      type,
      'schema',
    ],
    schema,
  );
});

it('integers of rules have the bounds that are checked', () => {
  expect(document.resolve(ref('EveryDto')).properties?.fives).toMatchObject({
    minimum: -most,
    maximum: most,
    multipleOf: 5,
  });
});

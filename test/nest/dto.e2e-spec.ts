import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  Injectable,
  Module,
  Patch,
  Post,
  type Type as ClassOf,
  UsePipes,
  ValidationPipe,
} from '@nestjs/common';
import { PartialType } from '@nestjs/swagger';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Exclude, Expose, Transform, Type } from 'class-transformer';
import {
  ArrayNotEmpty,
  Equals,
  IsArray,
  IsDate,
  IsDateString,
  IsEmail,
  IsEnum,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsNumberString,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  MinLength,
  Validate,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { Column, Entity, PrimaryGeneratedColumn, type Repository } from 'typeorm';
import {
  applyMergePatch,
  BodyLimit,
  type BodyLines,
  CreateTable,
  type Decimal,
  importLines,
  int32,
  IsDecimal,
  IsInstant,
  IsInt64,
  IsJson,
  IsText,
  type JsonText,
  Lines,
  MaxValues,
  MergePatch,
  text,
} from 'durable-rest';
import { expectError } from 'durable-rest/testing';
import { recordLog } from '../support/record-log.js';
import { addToSchema } from '../support/store.js';
import { TestApp } from '../support/fixture-app.js';

/** Makes a module whose controller answers with the body that it gets. */
function echo(path: string, type: ClassOf<object>): ClassOf<object> {
  @Controller(path)
  class EchoController {
    create(body: object): unknown {
      return { body, class: body.constructor.name };
    }
  }
  const { prototype } = EchoController;
  Reflect.defineMetadata('design:paramtypes', [type], prototype, 'create');
  Body()(prototype, 'create', 0);
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'create') ?? {};
  Post()(prototype, 'create', descriptor as TypedPropertyDescriptor<unknown>);
  @Module({ controllers: [EchoController] })
  class EchoModule {}
  return EchoModule;
}

@ValidatorConstraint({ async: true })
class IsFree implements ValidatorConstraintInterface {
  async validate(name: string): Promise<boolean> {
    await Promise.resolve();
    if (name === 'broken') throw new Error('no answer about the name');
    return name !== 'taken';
  }

  defaultMessage(): string {
    return '$property $value is taken';
  }
}

class TrimmedDto {
  @Transform(({ value }) => (value as string).trim())
  @IsString()
  @IsNotEmpty()
  name!: string;

  @IsOptional()
  @Transform(({ value }) => (value as string).toLowerCase())
  @IsString()
  mail?: string;

  @IsOptional()
  @Transform(({ value }) => JSON.stringify(value))
  @IsString()
  any?: string;

  @IsOptional()
  @Transform(({ obj }) => Object.keys(obj as object).join())
  @IsString()
  keys?: string;
}

class ExactDto {
  @IsOptional()
  @Transform(({ value }) => (value as bigint) + 1n)
  @IsInt64()
  id?: bigint;

  @IsOptional()
  @Transform(({ value }) => String(value))
  @IsString()
  reference?: string;

  @IsOptional()
  @Transform(({ value }) => value as unknown)
  @IsDecimal(12, 2)
  @Min(0.07)
  @Max(99_999_999.99)
  price?: Decimal;

  @IsOptional()
  @IsInt64()
  @Min(1)
  count?: bigint;

  @IsOptional()
  @Transform(({ value }) => value as unknown)
  @IsJson()
  notes?: JsonText;

  @IsOptional()
  @Type(() => Date)
  @IsDate()
  at?: Date;

  @IsOptional()
  @Transform(({ value }) => new Date((value as Date).getTime() + 1))
  @Type(() => Date)
  @IsDate()
  later?: Date;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  size?: number;

  @IsOptional()
  @Type(() => String)
  @IsString()
  code?: string;

  @IsOptional()
  @IsNumber({ maxDecimalPlaces: 2 })
  cost?: number;

  @IsOptional()
  @IsInstant()
  moment?: string;
}

class RenamedDto {
  @Expose({ name: 'full_name' })
  @IsString()
  fullName!: string;

  @Exclude()
  @IsOptional()
  @IsString()
  secret?: string;

  @Exclude({ toPlainOnly: true })
  @IsOptional()
  @IsString()
  password?: string;

  @Transform(() => 'only in answers', { toPlainOnly: true })
  @Expose({ groups: ['admin'], toPlainOnly: true })
  @IsString()
  plain!: string;
}

class ShapeDto {
  @IsString()
  type!: string;
}
class CircleDto extends ShapeDto {
  @IsNumber()
  r!: number;
}
class SquareDto extends ShapeDto {
  @IsInt64()
  side!: bigint;
}
const SHAPES = {
  discriminator: {
    property: 'type',
    subTypes: [
      { value: CircleDto, name: 'circle' },
      { value: SquareDto, name: 'square' },
    ],
  },
  keepDiscriminatorProperty: true,
};

class DrawingDto {
  @ValidateNested()
  @Type(() => ShapeDto, SHAPES)
  shape!: CircleDto | SquareDto;

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ShapeDto, SHAPES)
  more?: (CircleDto | SquareDto)[];
}

class LabelDto {
  @Transform(({ value }) => (value as string).trim())
  @IsString()
  @Length(1, 5)
  text!: string;
}
class LabelsDto {
  @IsArray()
  @ArrayNotEmpty()
  @ValidateNested()
  @Type(() => LabelDto)
  labels!: LabelDto[];
}

enum Role {
  User,
  Admin,
}
const Mixed = { One: 1, Two: 'two' } as const;
class WordsDto {
  @IsOptional()
  @IsDateString()
  date?: string;

  @IsOptional()
  @Length(3, 5)
  length?: string;

  @IsOptional()
  @Matches(/^a+$/)
  matches?: string;

  @IsOptional()
  @IsNumberString()
  digits?: string;

  @IsOptional()
  @IsEnum(Role)
  role?: Role;

  @IsOptional()
  @IsEnum(Mixed)
  mixed?: 1 | 'two';
}

class BuggyDto {
  @ValidateIf(({ name }: BuggyDto) => name.length > 99)
  @IsInt()
  early?: number;

  @IsString()
  get shout(): string {
    return this.name.toUpperCase();
  }

  @IsString()
  name!: string;

  @ValidateIf(({ name }: BuggyDto) => name.startsWith('x'))
  @IsInt()
  size?: number;

  @IsOptional()
  @IsString()
  @ValidateBy({
    name: 'throws',
    validator: {
      validate: (value) => {
        if ((value as string).toUpperCase() !== 'FINE') throw new Error('a bug of the author');
        return true;
      },
    },
  })
  word?: string;

  @IsOptional()
  @Transform(({ value }) => {
    if (value === 'bug') throw new Error('a bug in a transform');
    return (value as string).trim();
  })
  @IsString()
  trimmed?: string;

  @IsOptional()
  @ValidateBy({
    name: 'truthy',
    validator: { validate: (value) => /a/.exec(String(value)) as unknown as boolean },
  })
  @IsString()
  truthy?: string;

  @IsString()
  get full(): string {
    return this.name.trim();
  }
}

class UniqueDto {
  @IsString()
  @Validate(IsFree)
  name!: string;

  @IsOptional()
  @IsString({ each: true })
  @Validate(IsFree, { each: true })
  names?: string[];
}

class FailingDto {
  @Transform(() => {
    throw new Error('a bug in a transform');
  })
  @IsString()
  name!: string;
}

class TagDto {
  @Transform(({ value }) => (value as string).trim())
  @IsString()
  tag!: string;
}
class TagsDto {
  @ValidateNested()
  @Type(() => TagDto)
  tags!: TagDto[];
}
@MaxValues(4_000)
class ManyTagsDto extends TagsDto {}

class TextsDto {
  @IsNotEmpty({ message: 'name is required' })
  @IsString()
  name!: string;

  @IsEmail({}, { message: ({ property }) => `${property} must be an address` })
  mail!: string;

  @MinLength(3)
  @IsString()
  other!: string;

  @Equals(true)
  isAccepted!: boolean;
}

class CollectionsDto {
  @Transform(({ value }) => new Set(value as string[]))
  @IsString({ each: true })
  @Length(1, 3, { each: true })
  words!: Set<string>;

  @Transform(({ value }) => new Map(Object.entries(value as object)))
  @IsInt({ each: true })
  sizes!: Map<string, number>;

  @Expose()
  count(): string {
    return `${this.words.size} words, ${this.sizes.get('a') ?? 'no'} a`;
  }
}

class NoteDto {
  @IsString()
  text!: string;

  @IsInt()
  size!: number;

  @IsOptional()
  @IsNumber()
  weight?: number;

  @IsOptional()
  @IsString({ each: true })
  words?: string[];

  @IsOptional()
  @IsInt({ each: true })
  sizes?: number[];
}

@Entity('dto_notes')
class Note {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column(text())
  text!: string;

  @Column(int32())
  size!: number;
}

class CreateNotes1900000000001 extends CreateTable({
  name: 'dto_notes',
  columns: { id: int32(), text: text(), size: int32() },
  key: ['id'],
  countsUp: true,
}) {}

addToSchema({ entities: [Note], migrations: [CreateNotes1900000000001] });

@Injectable()
class NotesService {
  constructor(@InjectRepository(Note) private readonly notes: Repository<Note>) {}

  async create({ text: written, size }: NoteDto): Promise<Note | null> {
    const { id } = await this.notes.save({ text: written, size });
    return await this.notes.findOneBy({ id });
  }
}

class NoteChangesDto extends PartialType(NoteDto) {}

@Controller('notes')
class NotesController {
  constructor(private readonly notes: NotesService) {}

  @Patch()
  change(@Body() changes: NoteChangesDto): Promise<Note | null> {
    return this.notes.create({ size: 1, ...changes } as NoteDto);
  }

  @Post()
  create(@Body() note: NoteDto): Promise<Note | null> {
    return this.notes.create(note);
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Note])],
  controllers: [NotesController],
  providers: [NotesService],
})
class NotesModule {}

class ProfileDto {
  @Transform(({ value }) => (value as string).trim())
  @Expose()
  @IsString()
  @IsNotEmpty()
  @Validate(IsFree)
  name!: string;

  @IsOptional()
  @Transform(({ value }) => (value as string).toUpperCase())
  @IsString()
  code?: string;
}
class ProfilePatchDto extends MergePatch(ProfileDto) {}

@Controller('profiles')
class ProfilesController {
  @Patch()
  change(@Body() patch: ProfilePatchDto): unknown {
    const current = Object.assign(new ProfileDto(), { name: ' stored ', code: 'x' });
    return { patch, result: applyMergePatch(ProfileDto, current, patch) };
  }

  @Post('import')
  import(@Lines(ProfileDto) lines: BodyLines<ProfileDto>): Promise<unknown> {
    const stored: string[] = [];
    return importLines(
      lines,
      (values) => {
        stored.push(...values.map(({ name }) => name));
        return Promise.resolve({ created: values.length, identical: 0, failures: new Map() });
      },
      { error: 40999, message: stored.join() },
    );
  }
}

@Module({ controllers: [ProfilesController] })
class ProfilesModule {}

@Controller('piped')
class PipedController {
  @Post()
  @UsePipes(new ValidationPipe({ transform: true, whitelist: true }))
  create(@Body() body: TrimmedDto): unknown {
    return { body, class: body.constructor.name };
  }
}

@Module({ controllers: [PipedController] })
class PipedModule {}

class LongTextDto {
  @IsText()
  text!: string;
}

class SizeDto {
  @IsInt()
  width!: number;
}

class ConditionalDto {
  @IsString()
  kind!: string;

  @ValidateIf(({ kind }: ConditionalDto) => kind === 'checked')
  @IsString()
  word?: string;

  @ValidateIf(({ kind }: ConditionalDto) => kind === 'checked')
  @IsArray()
  @IsString({ each: true })
  words?: string[];

  @ValidateIf(({ kind }: ConditionalDto) => kind === 'checked')
  @IsInt64()
  id?: bigint;

  @ValidateIf(({ kind }: ConditionalDto) => kind === 'checked')
  @ValidateNested()
  @Type(() => SizeDto)
  size?: SizeDto;

  @IsString({ validateIf: ({ kind }: ConditionalDto) => kind === 'checked' })
  note?: string;
}

@Controller('long-texts')
class LongTextsController {
  @Post()
  @BodyLimit(300_000)
  create(@Body() { text: sent }: LongTextDto): unknown {
    return { length: sent.length };
  }
}

@Module({ controllers: [LongTextsController] })
class LongTextsModule {}

const app = TestApp.forAll(
  {},
  echo('trimmed', TrimmedDto),
  echo('exact', ExactDto),
  echo('renamed', RenamedDto),
  echo('drawings', DrawingDto),
  echo('labels', LabelsDto),
  echo('words', WordsDto),
  echo('buggy', BuggyDto),
  echo('unique', UniqueDto),
  echo('texts', TextsDto),
  echo('failing', FailingDto),
  echo('tags', TagsDto),
  echo('many-tags', ManyTagsDto),
  echo('collections', CollectionsDto),
  echo('conditional', ConditionalDto),
  NotesModule,
  ProfilesModule,
  PipedModule,
  LongTextsModule,
);

describe('the body of a class with decorators of class-transformer', () => {
  it.each([
    ['trimmed', '{"name":" x ","mail":"A@B.de"}', '{"name":"x","mail":"a@b.de"}'],
    ['trimmed', '{"name":"x","any":{"a":[1,null]}}', '{"name":"x","any":"{\\"a\\":[1,null]}"}'],
    ['trimmed', '{"name":"x","other":1,"keys":0}', '{"name":"x","keys":"name,other,keys"}'],
    ['piped', '{"name":" x ","mail":"A@B.de"}', '{"name":"x","mail":"a@b.de"}'],
    ['exact', '{"id":9007199254740992}', '{"id":9007199254740993}'],
    ['exact', '{"reference":9007199254740993}', '{"reference":"9007199254740993"}'],
    [
      'exact',
      '{"reference":123456789012345678901234567890}',
      '{"reference":"123456789012345678901234567890"}',
    ],
    ['exact', '{"price":0.07,"count":1}', '{"price":0.07,"count":1}'],
    ['exact', '{"cost":1.25}', '{"cost":1.25}'],
    ['exact', '{"cost":1.5e18}', '{"cost":1500000000000000000}'],
    ['exact', '{"price":99999999.99}', '{"price":99999999.99}'],
    ['exact', '{"notes":{"a":1.10,"b":[{}]}}', '{"notes":{"a":1.10,"b":[{}]}}'],
    ['exact', '{"at":"2026-11-22T10:00:00Z"}', '{"at":"2026-11-22T10:00:00.000Z"}'],
    ['exact', '{"at":"2026-11-22"}', '{"at":"2026-11-22T00:00:00.000Z"}'],
    ['exact', '{"later":"2026-11-22T10:00:00+01:00"}', '{"later":"2026-11-22T09:00:00.001Z"}'],
    [
      'exact',
      '{"size":"5","code":12345678901234567890}',
      '{"size":5,"code":"12345678901234567890"}',
    ],
    [
      'exact',
      '{"moment":"2026-11-22T10:00:00.123456789Z"}',
      '{"moment":"2026-11-22T10:00:00.123Z"}',
    ],
    [
      'renamed',
      '{"full_name":"n","secret":"s","password":"p","plain":"q"}',
      '{"fullName":"n","password":"p","plain":"q"}',
    ],
    ['drawings', '{"shape":{"type":"circle","r":1.5}}', '{"shape":{"r":1.5,"type":"circle"}}'],
    [
      'drawings',
      '{"shape":{"type":"square","side":9007199254740993},"more":[{"type":"circle","r":1}]}',
      '{"shape":{"side":9007199254740993,"type":"square"},"more":[{"r":1,"type":"circle"}]}',
    ],
    [
      'labels',
      '{"labels":[{"text":" a "},{"text":"b"}]}',
      '{"labels":[{"text":"a"},{"text":"b"}]}',
    ],
    ['words', '{"date":"2026-11-22","length":"abc"}', '{"date":"2026-11-22","length":"abc"}'],
    ['words', '{"matches":"aa","digits":"12"}', '{"matches":"aa","digits":"12"}'],
    ['words', '{"role":1,"mixed":"two"}', '{"role":1,"mixed":"two"}'],
    // class-validator takes the names of a numeric enum too.
    ['words', '{"role":"Admin"}', '{"role":"Admin"}'],
    ['words', '{"role":0,"mixed":1}', '{"role":0,"mixed":1}'],
    ['buggy', '{"name":"a","truthy":"a"}', '{"name":"a","truthy":"a"}'],
    ['buggy', '{"name":"a","full":"z"}', '{"name":"a"}'],
    ['unique', '{"name":"free","names":["a","b"]}', '{"name":"free","names":["a","b"]}'],
    [
      'texts',
      '{"name":"a","mail":"a@b.de","other":"abc","isAccepted":true}',
      '{"name":"a","mail":"a@b.de","other":"abc","isAccepted":true}',
    ],
    ['collections', '{"words":["a","a"],"sizes":{"a":1}}', '{"words":{},"sizes":{"a":1}}'],
  ])('%s: %s is read as %s', async (path, sent, read) => {
    const { status, text: answer } = await app.post(`/${path}`, sent);
    expect([status, answer]).toEqual([201, expect.stringContaining(`{"body":${read},"class":`)]);
  });

  it.each([
    ['trimmed', '{"name":"   "}', 'name should not be empty'],
    ['trimmed', '{"name":5}', 'name must be a string'],
    ['trimmed', '{"mail":"a"}', 'name is missing'],
    ['trimmed', '{"name":"a","name":"b"}', 'name is given more than once'],
    ['trimmed', '{"name":null}', 'name must be a string'],
    ['exact', '{"id":9223372036854775807}', 'id must be an integer from -9223372036854775808'],
    ['exact', '{"id":9223372036854775808}', 'id must be an integer from -9223372036854775808'],
    ['exact', '{"id":"1"}', 'id must be an integer from'],
    ['exact', '{"price":0.06}', 'price must not be less than 0.07'],
    ['exact', '{"price":99999999.999}', 'price must be a number from'],
    ['exact', '{"cost":1e-7}', 'cost must be a number conforming'],
    ['exact', '{"cost":1.255}', 'cost must be a number conforming'],
    ['exact', '{"count":0}', 'count must not be less than 1'],
    ['exact', '{"at":"yesterday"}', 'at must be a date in the years 1 to 9999'],
    ['exact', '{"at":1e17}', 'at must be a date in the years 1 to 9999'],
    ['exact', '{"later":{}}', 'later must be a date in the years 1 to 9999'],
    ['exact', '{"size":"9007199254740993"}', 'size must be an integer from -9007199254740991'],
    [
      'exact',
      '{"notes":{"a":1,"a":2}}',
      'notes must be JSON without an object that has a member twice',
    ],
    ['renamed', '{"fullName":"n","plain":"q"}', 'fullName is missing'],
    ['drawings', '{"shape":{"type":"square"}}', 'shape.side is missing'],
    ['drawings', '{"shape":{"type":"circle","r":1,"r":2}}', 'shape.r is given more than once'],
    [
      'drawings',
      '{"shape":{"type":"star"}}',
      'shape must have one of the following values as type: circle, square',
    ],
    ['drawings', '{"shape":"circle"}', 'shape must be either object or array'],
    ['drawings', '{"shape":[]}', 'shape must be an object'],
    ['drawings', '{"shape":null}', 'shape must be either object or array'],
    [
      'drawings',
      '{"shape":{"type":"circle","r":1},"more":[{"type":"square"}]}',
      'more.0.side is missing',
    ],
    ['labels', '{"labels":[]}', 'labels should not be empty'],
    ['labels', '{"labels":{"text":"a"}}', 'labels must be an array'],
    [
      'labels',
      '{"labels":[{"text":"too long"}]}',
      'labels.0.text must be shorter than or equal to 5',
    ],
    ['labels', '{"labels":[{"text":null}]}', 'labels.0.text must be a string'],
    ['words', '{"date":"x"}', 'date must be a valid ISO 8601 date string'],
    ['words', '{"length":5}', 'length must be longer than or equal to 3'],
    ['words', '{"matches":"b"}', 'matches must match /^a+$/ regular expression'],
    ['words', '{"digits":12}', 'digits must be a number string'],
    ['words', '{"role":2}', 'role must be one of the following values: 0, 1'],
    ['words', '{"mixed":"1"}', 'mixed must be one of the following values: 1, two'],
    ['buggy', '{"name":5}', 'name must be a string'],
    ['buggy', '{}', 'name is missing'],
    ['buggy', '{"name":"a","word":5}', 'word must be a string'],
    ['buggy', '{"name":"a","trimmed":5}', 'trimmed must be a string'],
    ['buggy', '{"name":"a","truthy":"b"}', 'truthy is not valid'],
    ['unique', '{"name":"taken"}', 'name taken is taken'],
    ['unique', '{"name":"free","names":["a","taken"]}', 'names $value is taken'],
    ['unique', '{"name":5}', 'name must be a string'],
    ['texts', '{}', 'name is required; mail must be an address; other is missing'],
    ['texts', '{"isAccepted":false}', 'isAccepted must be equal to true'],
    ['collections', '{"words":["a",5],"sizes":{}}', 'words must be a string'],
    ['collections', '{"words":["long"],"sizes":{}}', 'each value in words must be longer'],
    ['collections', '{"words":[],"sizes":{"a":"5"}}', 'sizes must be an integer number'],
  ])('%s: %s is refused: %s', async (path, sent, fault) => {
    expectError(await app.post(`/${path}`, sent), 'INVALID_BODY', expect.stringContaining(fault));
  });

  it.each([
    ['{"name":"  "}', 'name should not be empty'],
    ['{"name":5}', 'name must be a string'],
  ])('a pipe refuses %s: %s', async (sent, fault) => {
    const answer = await app.post('/piped', sent);
    expectError(answer, { error: 40099, message: '' }, expect.stringContaining(fault));
  });

  it.each([
    ['buggy', '{"name":"a","word":"other"}', 'a bug of the author'],
    ['unique', '{"name":"broken"}', 'no answer about the name'],
  ])('%s: %s meets a bug of its author', async (path, sent, bug) => {
    const log = recordLog(app, 'error');
    expectError(await app.post(`/${path}`, sent), 'INTERNAL');
    const { err } = JSON.parse(log.find((line) => line.includes(bug)) ?? '{}') as {
      err?: { stack: string };
    };
    expect(err?.stack).toContain('dto.e2e-spec');
  });

  it.each([
    ['tags', 1_400, 201],
    ['tags', 1_600, 400],
    ['many-tags', 1_900, 201],
    ['many-tags', 2_100, 400],
  ])('%s: %i objects with a text each get %i', async (path, count, expected) => {
    const tags = Array.from({ length: count }, () => ({ tag: 'a' }));
    const { status, text: answer } = await app.post(`/${path}`, JSON.stringify({ tags }));
    expect(status).toBe(expected);
    if (status === 400) expect(answer).toMatch(/it has more than \d+ values/);
  });

  it('failing: a transform that throws refuses the value, and is in the log once', async () => {
    const log = recordLog(app, 'error');
    const wrong = await app.post('/failing', '{"name":5}');
    expectError(wrong, 'INVALID_BODY', 'The body is not valid: name must be a string');
    const answer = await app.post('/failing', '{"name":"a"}');
    expectError(answer, 'INVALID_BODY', 'The body is not valid: name could not be read');
    const lines = log.filter((line) => line.includes('a bug in a transform'));
    expect(lines).toEqual([expect.stringContaining('dto.e2e-spec')]);
  });
});

it('a value of another type stays as it was sent where no rule applies', async () => {
  const sent = {
    kind: 'free',
    word: { a: [1] },
    words: [{ a: 1 }],
    id: { a: 1 },
    size: [{ width: 'x' }],
    note: [[1]],
  };
  const { status, body } = await app.post('/conditional', JSON.stringify(sent));
  expect({ status, body }).toMatchObject({ status: 201, body: { body: sent } });
  const checked = JSON.stringify({ ...sent, kind: 'checked' });
  expectError(await app.post('/conditional', checked), 'INVALID_BODY', expect.any(String));
});

describe('@BodyLimit()', () => {
  const bodyOf = (length: number): string => {
    const rest = JSON.stringify({ text: '' }).length;
    return JSON.stringify({ text: 'a'.repeat(length - rest) });
  };

  it('lets a handler take a longer body, and no other one', async () => {
    expect(await app.post('/long-texts', bodyOf(300_000))).toMatchObject({ status: 201 });
    const answer = await app.post('/long-texts', bodyOf(300_001));
    expectError(answer, 'BODY_TOO_LARGE', 'The body is larger than 300000 bytes');
    const other = await app.post('/texts', bodyOf(200_000));
    expectError(other, 'BODY_TOO_LARGE', 'The body is larger than 102400 bytes');
  });

  it.each([0, 1.5, 1024 * 1024 + 1])('does not take %d bytes', (bytes) => {
    expect(() => BodyLimit(bytes)).toThrow(
      `@BodyLimit(${bytes}): a body may have 1 to 1048576 bytes`,
    );
  });
});

it('the classes are documented by their rules', async () => {
  const { body } = await app.get('/openapi.json');
  const { schemas } = (body as { components: { schemas: unknown } }).components;
  const paths = ['Circle', 'Square'].map((name) => `#/components/schemas/${name}Dto`);
  const shape = {
    oneOf: paths.map(($ref) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: { circle: paths[0], square: paths[1] } },
  };
  const most = Number.MAX_SAFE_INTEGER;
  expect(schemas).toMatchObject({
    DrawingDto: { properties: { shape, more: { type: ['array', 'null'], items: shape } } },
    CircleDto: { properties: { r: { type: 'number' } } },
    RenamedDto: { required: ['full_name', 'plain'], properties: { secret: { readOnly: true } } },
    NoteDto: { properties: { size: { type: 'integer', minimum: -most, maximum: most } } },
    LabelsDto: { properties: { labels: { type: 'array', minItems: 1 } } },
    WordsDto: {
      properties: {
        date: { type: ['string', 'null'] },
        length: { type: ['string', 'null'], minLength: 3, maxLength: 5 },
        matches: { type: ['string', 'null'], pattern: '^a+$' },
        role: { type: ['number', 'null'], enum: [0, 1, null] },
        mixed: {
          oneOf: [
            { type: 'number', enum: [1] },
            { type: 'string', enum: ['two'] },
            { type: 'null' },
          ],
        },
      },
    },
    ExactDto: { properties: { at: { type: ['string', 'null'], format: 'date-time' } } },
  });
});

describe('a merge patch', () => {
  it('transforms the members that were sent', async () => {
    const answer = await app.patch('/profiles', '{"name":" new "}');
    const name = 'new';
    expect(answer.body).toEqual({ patch: { name }, result: { name, code: 'x' } });
  });

  it('does not transform what was not sent, nor null', async () => {
    const answer = await app.patch('/profiles', '{"code":null}');
    expect(answer.text).toBe('{"patch":{"code":null},"result":{"name":" stored "}}');
  });

  it.each([
    ['{"name":"  "}', 'name should not be empty'],
    ['{"name":"taken"}', 'name taken is taken'],
    ['{"name":null}', 'name must be a string'],
    ['{"code":5}', 'code must be a string'],
  ])('%s is refused: %s', async (sent, fault) => {
    expectError(await app.patch('/profiles', sent), 'INVALID_BODY', expect.stringContaining(fault));
  });
});

it('an import checks asynchronous rules of each line', async () => {
  const lines = ['{"name":" a "}', '{"name":"taken"}', '{"name":5}', '', '{"name":"b"}'];
  const answer = await app.post('/profiles/import', lines.join('\n'), {
    'Content-Type': 'application/x-ndjson',
  });
  const failures = [
    { line: 2, error: 40002, message: 'The line is not valid: name taken is taken' },
    { line: 3, error: 40002, message: 'The line is not valid: name must be a string' },
  ];
  expect(answer.body).toEqual({ created: 2, identical: 0, failed: 2, failures });
});

describe('strings and numbers of class-validator are stored as they were sent', () => {
  beforeEach(() => app.query('DELETE FROM dto_notes'));

  it.each([
    ['{"text":"\\ud83c\\udf3f","size":2147483647}', '\u{1f33f}', 2_147_483_647],
    ['{"text":"","size":1.0}', '', 1],
    ['{"text":"a","size":-1e3,"weight":1e300}', 'a', -1_000],
    ['{"text":"a","size":1,"weight":0.1}', 'a', 1],
    ['{"text":"a","size":0,"weight":-12.50e299}', 'a', 0],
    ['{"text":"a","size":1,"words":["","\\ud83c\\udf3f"],"sizes":[9007199254740991]}', 'a', 1],
  ])('%s', async (sent, written, size) => {
    const { body } = await app.post('/notes', sent);
    expect(body).toEqual({ id: expect.any(Number), text: written, size });
  });

  const text1 = 'text must not contain U+0000 or an unpaired surrogate';
  const size1 = 'size must be an integer from -9007199254740991 to 9007199254740991';
  it.each([
    ['{"text":"\\ud800x","size":1}', text1],
    ['{"text":"\\u0000","size":1}', text1],
    ['{"text":"x\\udc00","size":1}', text1],
    ['{"text":"a","size":9007199254740993}', size1],
    ['{"text":"a","size":-9007199254740992}', size1],
    ['{"text":"a","size":1e300}', size1],
    ['{"text":"a","size":1e-400}', size1],
    ['{"text":"a","size":1.0000000000000000001}', size1],
    ['{"text":"a","size":1.5}', 'size must be an integer number'],
    ['{"text":"a","size":"1"}', 'size must be an integer number'],
    [
      '{"text":"a","size":1,"weight":9007199254740993}',
      'weight must not be a number that is rounded',
    ],
    [
      '{"text":"a","size":1,"weight":1234567890123456789e5}',
      'weight must not be a number that is rounded',
    ],
    ['{"text":"a","size":1,"weight":1e-400}', 'weight must not be a number that is rounded'],
    ['{"text":"a","size":1,"words":["a","\\u0000"]}', text1.replace('text', 'words')],
    ['{"text":"a","size":1,"words":["\\ud800","a"]}', text1.replace('text', 'words')],
    ['{"text":"a","size":1,"sizes":[1,9007199254740993]}', size1.replace('size', 'sizes')],
    ['{"text":"a","size":1,"sizes":[1e-400]}', size1.replace('size', 'sizes')],
  ])('%s is refused: %s', async (sent, fault) => {
    expectError(await app.post('/notes', sent), 'INVALID_BODY', expect.stringContaining(fault));
    expect(await app.query('SELECT * FROM dto_notes')).toEqual([]);
  });

  it.each([
    ['{"text":null}', 'text must not be null'],
    ['{"text":"a","size":null}', 'size must not be null'],
  ])('%s, which PartialType() lets through, is refused: %s', async (sent, fault) => {
    const answer = await app.patch('/notes', sent, { 'Content-Type': 'application/json' });
    expectError(answer, 'INVALID_BODY', expect.stringContaining(fault));
  });

  it('a null that no client has sent is a bug of the author', async () => {
    const answer = await app.patch('/notes', '{}', { 'Content-Type': 'application/json' });
    expectError(answer, 'INTERNAL');
  });
});

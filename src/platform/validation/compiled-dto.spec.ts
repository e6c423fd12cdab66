import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { IntersectionType, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { Exclude, Expose, Transform, Type as TypeOf } from 'class-transformer';
import { IsDefined, IsInt, IsOptional, IsString, Max, Min, ValidateNested } from 'class-validator';
import { Decimal } from '../json/decimal.js';
import { readJson } from '../json/json-reader.js';
import { ValidationErrors } from './validation-errors.js';
import { CompiledDto } from './compiled-dto.js';
import { IsDecimal, IsInt32, IsInt64, IsText } from './types.decorators.js';

/** Describes the errors of a JSON text that is read as a class. */
function describeErrors(type: Type<object>, text: string): string {
  const dto = CompiledDto.compile(type);
  const object = readJson(text, dto.shape);
  const errors = new ValidationErrors();
  dto.check(object, errors);
  return String(errors);
}

class Inner {
  @IsInt()
  size!: number;
}

describe('a class that a request is read as', () => {
  class Loose {
    @IsDefined()
    text!: string;

    @IsOptional()
    count = 3;

    @IsDefined()
    list!: unknown[];

    @IsDefined()
    any: unknown;
  }

  it.each([
    ['{"text":"a","list":[1],"any":[]}', ''],
    ['{"text":1,"list":[],"any":0}', 'text must be a string'],
    ['{"text":{},"list":[],"any":0}', 'text must be a string'],
    ['{"text":"a","count":"1","list":[],"any":0}', 'count must be a number'],
    ['{"text":"a","count":null,"list":[],"any":0}', ''],
    ['{"text":"a","list":{},"any":0}', 'list must be an array'],
    ['{}', 'text is missing; list is missing; any is missing'],
  ])('has no member of another type than the one that is declared: %s', (text, errors) => {
    expect(describeErrors(Loose, text)).toBe(errors);
  });

  it('has its initial values where nothing is given', () => {
    const { shape } = CompiledDto.compile(Loose);
    expect(readJson('{"text":"a"}', shape)).toEqual({ text: 'a', count: 3 });
    expect(readJson('{"text":"a","count":4}', shape)).toEqual({ text: 'a', count: 4 });
  });

  it('accepts no member that is given twice, whatever its rules', () => {
    expect(describeErrors(Loose, '{"text":"a","list":[],"any":1,"any":1}')).toBe(
      'any is given more than once',
    );
  });
});

describe('a member of a wrong type', () => {
  class Delivery {
    @IsInt32()
    @Min(1)
    @Max(500)
    quantity = 1;

    @IsInt()
    @Min(1)
    count = 1;

    @IsDecimal(3, 1)
    rating = new Decimal(10n, 1);

    @IsText({ maxLength: 1 })
    grade = 'a';
  }

  it.each([
    ['{"quantity":1.5}', 'quantity must be an integer from -2147483648 to 2147483647'],
    ['{"quantity":"1"}', 'quantity must be an integer from -2147483648 to 2147483647'],
    ['{"quantity":501}', 'quantity must not be greater than 500'],
    ['{"count":"a"}', 'count must be an integer number'],
    [
      '{"rating":1.55}',
      'rating must be a number from -99.9 to 99.9 with at most 1 digit after the point',
    ],
    [
      '{"rating":"1.5"}',
      'rating must be a number from -99.9 to 99.9 with at most 1 digit after the point, not a string: write it without quotes',
    ],
    ['{"grade":"ab"}', 'grade must have at most 1 character'],
  ])('has no fault but its type: %s', (text, errors) => {
    expect(describeErrors(Delivery, text)).toBe(errors);
  });
});

describe('a class with unions', () => {
  class Union {
    @IsOptional()
    @IsInt64()
    id!: bigint | null;

    @IsOptional()
    @IsInt64({ each: true })
    ids!: bigint[] | null;

    @IsOptional()
    @ValidateNested({ each: true })
    @TypeOf(() => Inner)
    inners!: Inner[] | null;

    @IsOptional()
    @IsString()
    text!: string | null;

    @IsDefined()
    either!: string | number;
  }

  it.each([
    ['{"id":9223372036854775807,"ids":[1],"inners":[{"size":1}],"text":"a","either":1}', ''],
    ['{"id":null,"ids":null,"inners":null,"text":null,"either":"a"}', ''],
    ['{"inners":{"size":1},"either":1}', 'inners must be an array'],
    ['{"ids":1,"either":1}', 'ids must be an array'],
    ['{"text":{"a":1}}', 'text must be a string; either is missing'],
  ])('is read by its rules where the type is not recorded: %s', (text, errors) => {
    expect(describeErrors(Union, text)).toBe(errors);
  });
});

describe('a class made of another', () => {
  class Whole {
    @IsInt64()
    id!: bigint;

    @IsText()
    name!: string;

    @IsInt()
    size!: number;

    @IsInt64({ each: true })
    ids!: bigint[];

    @ValidateNested({ each: true })
    @TypeOf(() => Inner)
    inners!: Inner[];
  }

  it.each<[Type<object>, string, string]>([
    [PartialType(Whole), '{}', ''],
    [PartialType(Whole), '{"id":1,"ids":[1],"inners":[{"size":1}]}', ''],
    [PartialType(Whole), '{"inners":{}}', 'inners must be an array'],
    [PickType(Whole, ['id', 'ids']), '{"id":9223372036854775807,"ids":[9007199254740993]}', ''],
    [PickType(Whole, ['size']), '{"size":{}}', 'size must be an integer number'],
    [
      OmitType(Whole, ['id', 'ids']),
      '{"name":"a","size":1,"inners":[{}]}',
      'inners.0.size is missing',
    ],
    [IntersectionType(Inner, PickType(Whole, ['name'])), '{"size":1}', 'name is missing'],
  ])('by a function of @nestjs/swagger is read like the other: %#', (type, text, errors) => {
    expect(describeErrors(type, text)).toBe(errors);
  });
});

describe('a class that no request can be read as', () => {
  class Without {
    text!: string;
  }
  class Promised {
    @IsString()
    @Transform(({ value }) => String(value))
    text!: string;
  }
  class Trimmed {
    @IsString()
    @Transform(({ value }) => (typeof value === 'string' ? value.trim() : (value as unknown)))
    text!: string;
  }
  class Failing {
    @IsString()
    @Transform(({ value }) => (value as string).trim())
    text!: string;
  }
  class Excluded {
    @IsString()
    @Exclude()
    text!: string;
  }
  class Renamed {
    @IsString()
    @Expose({ name: 'other' })
    text!: string;
  }
  class Converted {
    @IsInt()
    @TypeOf(() => Number)
    size!: number;
  }
  class Dated {
    @IsDefined()
    @TypeOf(() => Date)
    date!: Date;
  }
  class WithoutType {
    @ValidateNested()
    inner!: Inner;
  }
  class WithoutNested {
    @IsDefined()
    @TypeOf(() => Inner)
    inner!: Inner;
  }
  class Elsewhere {
    @ValidateNested()
    @TypeOf(() => Trimmed)
    inner!: Trimmed;
  }
  class Rounded {
    @IsInt64()
    id!: number;
  }
  class Unchecked {
    @IsDefined()
    id!: bigint;
  }
  class UncheckedList {
    @IsInt64()
    ids!: bigint[];
  }

  const values = 'of class-transformer only @Type(() => AClass) counts here';
  const together = '@ValidateNested() and @Type(() => AClass) need each other';
  const exact = 'a bigint and @IsInt64() need each other';

  it.each<[Type<object>, string]>([
    [Without, 'Without has no member with a rule'],
    [Promised, `Promised.text: ${values}`],
    [Trimmed, `Trimmed.text: ${values}`],
    [Failing, `Failing.text: ${values}`],
    [Excluded, `Excluded.text: ${values}`],
    [Renamed, `Renamed.text: ${values}`],
    [Converted, `Converted.size: ${values}`],
    [Dated, `Dated.date: ${values}`],
    [WithoutType, `WithoutType.inner: ${together}`],
    [WithoutNested, `WithoutNested.inner: ${together}`],
    [Elsewhere, `Elsewhere.inner: Trimmed.text: ${values}`],
    [Rounded, `Rounded.id: ${exact}`],
    [Unchecked, `Unchecked.id: ${exact}`],
    [UncheckedList, `UncheckedList.ids: ${exact}`],
  ])('says why: %p', (type, reason) => {
    expect(() => CompiledDto.compile(type)).toThrow(reason);
  });

  it('may have what class-transformer does to answers', () => {
    class Answered {
      @Max(9)
      @Transform(({ value }) => String(value), { toPlainOnly: true })
      size!: number;
    }
    expect(describeErrors(Answered, '{"size":9}')).toBe('');
  });
});

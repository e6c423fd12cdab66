import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Transform, Type as TypeOf } from 'class-transformer';
import {
  IsInt,
  IsOptional,
  IsString,
  Length,
  Min,
  Validate,
  ValidateBy,
  ValidatorConstraint,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { compileValidator } from './compile-validator.js';

class Base {
  @IsString()
  @Length(2, 5)
  name!: string;
}

class Flat extends Base {
  @ValidateIf((object: Flat) => object.name !== 'any')
  @IsInt()
  @Min(3)
  size!: number;
}

class Inner {
  @IsString()
  text!: string;
}

class Nested {
  @ValidateNested()
  inner!: Inner;
}

class Each {
  @IsString({ each: true })
  texts!: string[];
}

class Grouped {
  @IsString({ groups: ['admin'] })
  text!: string;
}

@ValidatorConstraint({ async: true })
class Slow {
  validate(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

class Asynchronous {
  @Validate(Slow)
  text!: string;
}

class Transformed {
  @Transform(({ value }) => String(value))
  @IsString()
  text!: string;
}

class Typed {
  @TypeOf(() => Inner)
  @IsOptional()
  inner?: Inner;
}

class Without {
  text!: string;
}

class Promising {
  @ValidateBy({ name: 'later', validator: { validate: () => Promise.resolve(true) } })
  text!: string;
}

function accepts(dto: Type<object>, members: object): boolean | undefined {
  return compileValidator(dto)?.(Object.assign(new dto(), members) as Record<string, unknown>);
}

describe('compileValidator', () => {
  it.each([
    [{ name: 'abc', size: 3 }, true],
    [{ name: 'any' }, true],
    [{ name: 'abc', size: 2 }, false],
    [{ name: 'abc', size: 3.5 }, false],
    [{ name: 'abc' }, false],
    [{ name: 'a', size: 3 }, false],
    [{ size: 3 }, false],
  ])('decides on %j: %s', (members, isAccepted) => {
    expect(accepts(Flat, members)).toBe(isAccepted);
  });

  it.each<Type<object>>([Nested, Each, Grouped, Asynchronous, Transformed, Typed, Without])(
    'leaves %p to class-validator',
    (dto) => {
      expect(compileValidator(dto)).toBeUndefined();
    },
  );

  it('accepts nothing on a promise', () => {
    expect(accepts(Promising, { text: 'a' })).toBe(false);
  });
});

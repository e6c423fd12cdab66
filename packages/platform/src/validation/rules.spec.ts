import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import {
  Allow,
  ArrayNotEmpty,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateIf,
  validateSync,
} from 'class-validator';
import fc from 'fast-check';
import { readRules } from './rules.js';
import { IsInt64 } from './types.decorators.js';

class Base {
  @IsString()
  @Length(2, 5)
  @Matches(/^a/, { message: '$property of $target is "$value", not $constraint1' })
  name!: string;

  @IsInt()
  inherited!: number;
}

class Every extends Base {
  @ValidateIf((object: Every) => object.name !== 'any')
  @ValidateIf((object: Every) => !object.flag)
  @IsInt()
  @Min(3)
  @Max(7, { message: ({ property, constraints }) => `${property}: ${String(constraints[0])}` })
  size!: number;

  @IsOptional()
  @IsString({ each: true })
  @IsIn(['a', 'b'], { each: true })
  words?: string[];

  @IsDefined()
  @IsNotEmpty({ groups: ['a group'] })
  any: unknown;

  @IsBoolean({ validateIf: (object: Every) => object.size !== 5, always: true })
  flag!: boolean;

  @IsInt64({ each: true })
  @ArrayNotEmpty()
  own!: bigint[];

  @Allow()
  allowed: unknown;

  @Max(1)
  override inherited!: number;
}

const values = fc.oneof(
  fc.constantFrom(undefined, null, 5, 3.5, 8, 'any', 'abc', 'a', true, 1n, '\0'),
  fc.array(fc.constantFrom('a', 'b', 'c', 1, 1n, null)),
  fc.jsonValue(),
);
const objects = fc
  .record({
    name: values,
    size: values,
    words: values,
    any: values,
    flag: values,
    own: values,
    allowed: values,
    inherited: values,
  })
  .map((members) => Object.assign(new Every(), members));

it('rules accept only what class-validator accepts, and all of it', () => {
  const members = [...readRules(Every)];
  fc.assert(
    fc.property(objects, (object) => {
      const refused = members.flatMap(([name, { rules, conditions }]) => {
        const value: unknown = object[name as keyof Every];
        const applies = conditions.every((holds) => holds(object, value));
        return applies && !rules.every((rule) => rule.accepts(object, value)) ? [name] : [];
      });
      const expected = validateSync(object).map(({ property }) => property);
      expect(refused.sort()).toEqual(expected.sort());
    }),
    { numRuns: 500 },
  );
});

import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
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
  ValidateBy,
  ValidateIf,
  validateSync,
} from 'class-validator';
import fc from 'fast-check';
import { Check } from './check.js';
import { readRules, runRules } from './rules.js';
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

const TYPE_RULES = ['isString', 'isInt', 'isBoolean', 'isInt64'];

const values = fc.oneof(
  fc.constantFrom(undefined, null, 5, 3.5, 8, 'any', 'abc', 'a', true, 1n, '\0'),
  fc.array(fc.constantFrom('a', 'b', 'c', 1, 1n, null)),
  // class-validator takes $& and the like in a value for patterns of its replacement.
  fc.jsonValue().filter((value) => !/\$[$&`']/.test(JSON.stringify(value))),
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

describe('the rules of a class', () => {
  it('have the meaning and the messages of class-validator, only that of the type if it is wrong', () => {
    const members = readRules(Every);
    fc.assert(
      fc.property(objects, (object) => {
        const found = [...members].flatMap(([name, { rules, conditions }]) => {
          const value: unknown = object[name as keyof Every];
          if (!conditions.every((holds) => holds(object, value))) return [];
          const check = new Check();
          runRules(rules, object, value, name, check);
          return check.finish();
        });
        const expected = validateSync(object).flatMap(({ constraints = {} }) => {
          const ofType = TYPE_RULES.filter((name) => name in constraints);
          const names = Object.keys(constraints);
          return names
            .filter((name) => ofType.length === 0 || ofType.includes(name))
            .map((name) => constraints[name]);
        });
        expect(found).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [true, []],
    ['yes', []],
    [false, ['text is taken']],
    ['', ['text is taken']],
  ])('wait for a validator that resolves with %p', async (outcome, faults) => {
    class Promising {
      @ValidateBy({
        name: 'later',
        validator: {
          validate: () => Promise.resolve(outcome as boolean),
          defaultMessage: () => '$property is taken',
        },
      })
      text!: string;
    }
    const check = new Check();
    runRules(readRules(Promising).get('text')?.rules ?? [], new Promising(), 'a', 'text', check);
    expect(await check.end()).toEqual(faults);
  });
});

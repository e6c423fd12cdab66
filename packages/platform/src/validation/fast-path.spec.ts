import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Transform, Type as TypeOf } from 'class-transformer';
import {
  ArrayMaxSize,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
  ValidateNested,
  validateSync,
} from 'class-validator';
import fc from 'fast-check';
import { readJson, writeJson } from 'durable-store/json';
import { CompiledDto } from './compiled-dto.js';
import {
  IsCalendarDate,
  IsDecimal,
  IsInstant,
  IsInt32,
  IsInt64,
  IsJson,
  IsOptionalNotNull,
  IsText,
  IsUuid,
} from './types.decorators.js';

class Part {
  @IsInt64()
  id!: bigint;

  @IsOptional()
  @IsText({ maxLength: 2 })
  text?: string;
}

type Decorators = readonly PropertyDecorator[];

/** The decorators that a member may have. */
const KINDS: readonly Decorators[] = [
  [IsInt64()],
  [IsInt64(), Min(0), Max(9)],
  [IsInt64({ each: true }), ArrayMaxSize(2)],
  [IsInt32()],
  [IsDecimal(5, 2), Max(10)],
  [IsText({ minLength: 1 })],
  [IsText({ each: true })],
  [IsJson()],
  [IsInstant()],
  [IsCalendarDate()],
  [IsUuid()],
  [IsString(), Length(1, 2)],
  [IsInt(), Min(0)],
  [IsNumber()],
  [IsBoolean()],
  [IsIn(['a', 1])],
  [ValidateNested(), TypeOf(() => Part)],
  [ValidateNested({ each: true }), TypeOf(() => Part)],
];
const CONDITIONS: readonly Decorators[] = [[], [IsOptional()], [IsOptionalNotNull()]];

const members = fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.constantFrom(...CONDITIONS)), {
  minLength: 1,
  maxLength: 4,
});

/** JSON that a member of one of these kinds may have, and some that none may have. */
const PART = fc.constantFrom(
  '{"id":1}',
  '{"id":1,"text":"é"}',
  '{"id":"1"}',
  '{"id":1,"id":2}',
  '{}',
);
const VALUES = fc.oneof(
  fc.constantFrom('null', 'true', '"a"', '""', '"\\u0000"', '"abc"', '{}', '[]', '[[]]'),
  fc.constantFrom('0', '-0', '1', '1.0', '1e0', '1.25', '1e400', '1e-400', '2147483648'),
  fc.constantFrom('9007199254740993', '9223372036854775807', '9223372036854775808', '999.99'),
  fc.constantFrom(
    '"2026-11-22"',
    '"2026-11-22T10:00:00+01:00"',
    '"0190B5C8-7d0a-7c3e-9b2a-5f4e3d2c1b0a"',
  ),
  PART,
  fc.array(PART, { maxLength: 3 }).map((parts) => `[${parts.join()}]`),
  fc
    .array(fc.constantFrom('1', '"a"', 'null', '9223372036854775807'), { maxLength: 3 })
    .map((values) => `[${values.join()}]`),
);
const NAMES = ['a', 'b', 'c', 'd', 'other'];
const bodies = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), VALUES), { maxLength: 5 })
  .map((given) => `{${given.map(([name, json]) => `"${name}":${json}`).join()}}`);

/** Makes a class, and one with the same members that class-transformer makes. */
function makeClasses(kinds: readonly (readonly [Decorators, Decorators])[]): Type<object>[] {
  const Fast = class extends Object {};
  for (const [index, decorators] of kinds.entries()) {
    for (const decorate of decorators.flat()) decorate(Fast.prototype, NAMES[index] ?? '');
  }
  class Slow extends Fast {
    @IsOptional()
    @IsText()
    @Transform(({ value }) => value as unknown)
    transformed?: string;
  }
  return [Fast, Slow];
}

it('the fast path and the libraries read the same values, and refuse the same', () => {
  fc.assert(
    fc.property(members, bodies, (kinds, body) => {
      const [fast, slow] = makeClasses(kinds).map((type) => {
        const dto = CompiledDto.forRequests(type);
        const object = readJson(body, dto) as object;
        return { object, faults: dto.checkSynchronously(object) };
      });
      expect(fast?.faults).toEqual(slow?.faults);
      if (fast?.faults.length !== 0) return;
      expect(writeJson({ ...fast.object })).toBe(writeJson({ ...slow?.object }));
      expect(validateSync(fast.object)).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

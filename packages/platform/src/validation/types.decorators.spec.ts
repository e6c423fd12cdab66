import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { IsDivisibleBy, IsNegative, IsPositive, Max, Min } from 'class-validator';
import { heapUsed } from '../../../../test/support/heap-used.js';
import { TYPES, ValuesDto } from '../../../../test/cases/types.js';
import { Decimal, readJson, writeJson } from 'durable-store/json';
import { CompiledDto } from './compiled-dto.js';
import type { Member } from './dto-member.js';
import { IsDecimal, IsInt32, IsInt64, Satisfies, type ValueType } from './types.decorators.js';

const dto = CompiledDto.compile(ValuesDto);

/** Reads a body with one member, and returns the member and its faults. */
function read(type: string, json: string): { value: unknown; faults: string[] } {
  const object = readJson(`{"${type}":${json}}`, dto) as object;
  const faults = dto.checkSynchronously(object);
  return {
    value: object[type as keyof object],
    faults: faults.filter((fault) => fault.startsWith(`${type} `)),
  };
}

describe.each(Object.entries(TYPES))('a member of the type %s', (type, cases) => {
  const { valid, spellings = {}, invalid } = cases;

  it('has one spelling, however it was written', () => {
    const same = valid.map((json) => [json, json]);
    for (const [written = '', spelling] of [...same, ...Object.entries(spellings)]) {
      const { value, faults } = read(type, written);
      expect([written, writeJson(value), faults]).toEqual([written, spelling, []]);
    }
  });

  it('cannot have another value', () => {
    for (const json of invalid) expect([json, read(type, json).faults.length]).toEqual([json, 1]);
  });

  it('is read from a parameter as from a body', () => {
    const { valueType } = dto.members.find(({ name }) => name === type) ?? {};
    if (valueType === undefined || type === 'json') return;
    for (const json of [...valid, ...Object.keys(spellings).filter((one) => one.startsWith('"'))]) {
      const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
      expect([json, valueType.readParameter(text)]).toEqual([json, read(type, json).value]);
    }
  });
});

class ComparedDto {
  @IsInt32()
  @Min(2)
  @IsDivisibleBy(2)
  int32 = 2;

  @IsInt32({ each: true })
  @Max(-1, { each: true })
  @IsNegative({ each: true })
  list = [-1];

  @IsInt64()
  @Min(1)
  @IsPositive()
  int64 = 1n;

  @IsDecimal(3, 1)
  @Max(9)
  @Satisfies('must be less than 1', ({ decimal }: ComparedDto) => decimal.unscaled < 10n)
  decimal = new Decimal(0n, 1);
}

const INT32 = 'must be an integer from -2147483648 to 2147483647';
const INT64 = 'must be an integer from -9223372036854775808 to 9223372036854775807';
const DECIMAL = 'must be a number from -99.9 to 99.9 with at most 1 digit after the point';
const QUOTED = ', not a string: write it without quotes';

it.each([
  ['{"int32":1}', ['int32 must be divisible by 2', 'int32 must not be less than 2']],
  ['{"int32":3000000000}', [`int32 ${INT32}`]],
  ['{"int32":-3000000000}', [`int32 ${INT32}`]],
  ['{"int32":4.5}', [`int32 ${INT32}`]],
  ['{"int32":null}', [`int32 ${INT32}`]],
  ['{"int32":[4]}', [`int32 ${INT32}`]],
  ['{"int32":"x"}', [`int32 ${INT32}`]],
  ['{"int32":"4"}', [`int32 ${INT32}${QUOTED}`]],
  ['{"list":[-1,"-1"]}', [`each value in list ${INT32}${QUOTED}`]],
  ['{"list":[3000000000]}', [`each value in list ${INT32}`]],
  [
    '{"list":[0]}',
    [
      'each value in list must be a negative number',
      'each value in list must not be greater than -1',
    ],
  ],
  ['{"int64":0}', ['int64 must be a positive number', 'int64 must not be less than 1']],
  ['{"int64":"0"}', [`int64 ${INT64}${QUOTED}`]],
  ['{"int64":9223372036854775808}', [`int64 ${INT64}`]],
  ['{"decimal":"9.5"}', [`decimal ${DECIMAL}${QUOTED}`]],
  ['{"decimal":100}', [`decimal ${DECIMAL}`]],
  ['{"decimal":8}', ['decimal must be less than 1']],
])('the body %s has only the faults that are true of it', (json, faults) => {
  const compared = CompiledDto.compile(ComparedDto);
  const object = readJson(json, compared) as object;
  expect(compared.checkSynchronously(object)).toEqual(faults);
});

it('short JSON keeps no long text in memory', () => {
  const before = heapUsed();
  const kept = Array.from({ length: 200 }, (_, index) => {
    const other = String(index).padEnd(100_000);
    return readJson(`{"json":[1000000000000000000000000],"other":"${other}"}`, dto);
  });
  expect(kept).toHaveLength(200);
  expect(heapUsed() - before).toBeLessThan(5_000_000);
});

it.each([
  [18, 0],
  [18, 4],
  [3, 1],
])('the bounds of decimal(%i, %i) in the document are those of the service', (precision, scale) => {
  class Priced {
    @IsDecimal(precision, scale)
    price!: Decimal;
  }
  const [{ valueType }] = CompiledDto.compile(Priced).members as [Member];
  const { schema, isValid, readParameter } = valueType as ValueType;
  const bound = BigInt(schema.exclusiveMaximum as number);
  expect(schema.exclusiveMinimum).toBe(-Number(bound));
  expect(isValid(readParameter(String(bound)))).toBe(false);
  const greatest = new Decimal(bound * 10n ** BigInt(scale) - 1n, scale);
  expect(readParameter(String(greatest))).toEqual(greatest);
});

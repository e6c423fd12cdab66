import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { heapUsed } from '../../../../test/support/heap-used.js';
import { TYPES, ValuesDto } from '../../../../test/cases/types.js';
import { Decimal, readJson, writeJson } from 'durable-store/json';
import { CompiledDto } from './compiled-dto.js';
import type { Member } from './dto-member.js';
import { IsDecimal, type ValueType } from './types.decorators.js';

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

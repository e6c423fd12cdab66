import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Type as TypeOf } from 'class-transformer';
import { IsIn, ValidateNested } from 'class-validator';
import { type JsonText, parseJson, readJson, writeJson } from 'durable-store/json';
import { CompiledDto } from '../validation/compiled-dto.js';
import { IsJson, IsOptionalNotNull, IsText } from '../validation/types.decorators.js';
import { applyMergePatch, mergeJson, MergePatch } from './merge-patch.js';

class Place {
  @IsText()
  house!: string;

  @IsOptionalNotNull()
  @IsText()
  shelf?: string;
}

class Pot {
  @IsText()
  name!: string;

  @IsOptionalNotNull()
  @IsJson()
  notes?: JsonText;

  @IsOptionalNotNull()
  @ValidateNested()
  @TypeOf(() => Place)
  place?: Place;

  @IsOptionalNotNull()
  @IsText({ each: true })
  words?: string[];

  @IsIn(['clay', 'tin'])
  material = 'clay';

  @IsText()
  get label(): string {
    return `${this.name} in ${this.material}`;
  }
}

class PotPatch extends MergePatch(Pot) {}

function read<Value extends object>(type: new () => Value, text: string): Value {
  const dto = CompiledDto.forRequests(type);
  const value = readJson(text, dto) as Value;
  const faults = dto.checkSynchronously(value);
  if (faults.length > 0) throw new TypeError(faults.join('; '));
  return value;
}

function patch(before: string, change: string): string {
  const result = applyMergePatch(Pot, read(Pot, before), read(PotPatch, change));
  return writeJson({ ...result });
}

const BEFORE = {
  name: 'a',
  notes: { a: 1, b: { c: 2 } },
  place: { house: 'h', shelf: 's' },
  material: 'tin',
};

describe('a merge patch', () => {
  it.each([
    ['{"notes":{"a":null,"b":{"d":9}}}', { notes: { b: { c: 2, d: 9 } } }],
    ['{"notes":null}', { notes: undefined }],
    ['{"place":{"shelf":null}}', { place: { house: 'h' } }],
    ['{"words":["a"],"material":"clay"}', { words: ['a'], material: 'clay' }],
  ])('%s changes the members that it names', (change, changed) => {
    const after: unknown = JSON.parse(patch(JSON.stringify(BEFORE), change));
    expect(after).toEqual({ ...BEFORE, ...changed });
  });

  it('leaves it to the class to compute a member', () => {
    const before = read(Pot, JSON.stringify(BEFORE));
    const { label } = applyMergePatch(Pot, before, read(PotPatch, '{"name":"b"}'));
    expect(label).toBe('b in tin');
  });

  it.each([
    ['{"place":{"house":null}}', 'place.house must be a string'],
    ['{"notes":{"a":1,"a":2}}', 'notes must be JSON without an object that has a member twice'],
  ])('%s is refused: %s', (change, fault) => {
    expect(() => read(PotPatch, change)).toThrow(fault);
  });

  it('is refused for what it would leave', () => {
    const message = expect.stringContaining('place.house is missing');
    expect(() => patch('{"name":"a"}', '{"place":{"shelf":"s"}}')).toThrow(
      expect.objectContaining({ body: { error: 40002, message } }),
    );
  });
});

// RFC 7396, appendix A.
it.each([
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
])('mergeJson() changes %s by the patch %s to %s', (target, patch, result) => {
  expect(writeJson(mergeJson(parseJson(target), parseJson(patch)))).toBe(result);
});

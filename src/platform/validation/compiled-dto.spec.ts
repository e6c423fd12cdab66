import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import { Type as TypeOf } from 'class-transformer';
import { IsDefined, IsInt, IsOptional, ValidateNested } from 'class-validator';
import { readJson } from '../json/json.js';
import { compileDocumented, CompiledDto, joinFaults, makePatchClass } from './compiled-dto.js';
import { IsInt64 } from './types.decorators.js';

function read(type: Type<object>, text: string): object {
  return readJson(text, CompiledDto.compile(type)) as object;
}

/** Describes the faults of a JSON text that is read as a class. */
function describeErrors(type: Type<object>, text: string): string {
  const faults: string[] = [];
  CompiledDto.compile(type).check(read(type, text), faults);
  return joinFaults(faults);
}

class Inner {
  @IsInt()
  size!: number;
}

describe('a class that a request is read as', () => {
  class Tree {
    @IsOptional()
    @IsInt64()
    id?: bigint;

    @IsInt()
    count = 3;

    @IsOptional()
    @IsInt64({ each: true })
    ids?: bigint[];

    @IsOptional()
    @ValidateNested()
    @TypeOf(() => Tree)
    tree?: Tree;

    @IsOptional()
    @ValidateNested({ each: true })
    @TypeOf(() => Tree)
    trees?: Tree[];
  }

  it('has exact integers and instances of classes at any depth', () => {
    const id = 9223372036854775807n;
    const made = (members: object): Tree => Object.assign(new Tree(), members);
    const text = `{"id":${id},"ids":[1.0,"1"],"tree":{"tree":{"id":${id}}},"trees":[{},1]}`;
    const tree = made({ tree: made({ id }) });
    expect(read(Tree, text)).toStrictEqual(
      made({ id, ids: [1n, '1'], tree, trees: [made({}), 1] }),
    );
  });

  it('has of a value of another type no more than its type', () => {
    const text = '{"id":{"id":1},"count":1e999,"ids":{"a":1},"tree":[{}],"trees":null}';
    const kept = { id: {}, count: Infinity, ids: {}, tree: [], trees: null };
    expect(read(Tree, text)).toEqual(kept);
  });

  it.each([
    ['{"tree":{"id":1,"id":2}}', 'tree.id is given more than once'],
    ['{"other":1,"other":2}', ''],
    ['{"tree":1}', 'tree must be an object'],
    ['{"ids":{}}', 'ids must be an array'],
    [
      '{"trees":[1,{"count":0.5}]}',
      'trees.0 must be an object; trees.1.count must be an integer number',
    ],
  ])('names the faults of %s: %s', (text, errors) => {
    expect(describeErrors(Tree, text)).toBe(errors);
  });
});

describe('a class that no request can be read as', () => {
  class Without {
    text!: string;
  }
  class Untyped {
    @IsDefined()
    text!: string;
  }
  class WithoutType {
    @ValidateNested()
    inner!: Inner;
  }

  const missing = 'no rule says what its type is; add one that does, such as @IsText()';

  it.each<[Type<object>, string]>([
    [Without, 'Without has no member with a rule'],
    [Untyped, `Untyped.text: ${missing}`],
    [WithoutType, 'WithoutType.inner: @ValidateNested() needs @Type(() => AClass)'],
  ])('says why: %p', (type, reason) => {
    expect(() => CompiledDto.compile(type)).toThrow(reason);
  });
});

describe('the names of documented classes', () => {
  @ApiSchema({ name: 'Inner' })
  class Other {
    @IsInt()
    length!: number;
  }
  class Holder {
    @ValidateNested()
    @TypeOf(() => Inner)
    inner!: Inner;
  }

  it('differ from those of the members', () => {
    expect(() => compileDocumented([Inner, Holder, Inner])).not.toThrow();
    const reason = / are both documented as Inner: /;
    expect(() => compileDocumented([Other, Holder])).toThrow(reason);
    class OtherHolder {
      @ValidateNested()
      @TypeOf(() => Other)
      inner!: Other;
    }
    const patches = [Holder, OtherHolder].map(makePatchClass);
    expect(() => compileDocumented(patches)).toThrow(/ are both documented as InnerPatch: /);
  });
});

import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Transform, Type as TypeOf } from 'class-transformer';
import { IsArray, IsDefined, IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { readJson } from 'durable-store/json';
import { CompiledDto } from './compiled-dto.js';
import { compileDocumented } from './documented-classes.js';
import { makePatchClass } from './patch-class.js';
import { IsInt64 } from './types.decorators.js';

function read(type: Type<object>, text: string): object {
  return readJson(text, CompiledDto.forRequests(type)) as object;
}

/** Describes the faults of a JSON text that is read as a class. */
function describeErrors(type: Type<object>, text: string): string {
  return CompiledDto.forRequests(type).checkSynchronously(read(type, text)).join('; ');
}

class Kind {
  @IsString()
  kind!: string;
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
    ['{"tree":1}', 'nested property tree must be either object or array'],
    ['{"tree":[]}', 'tree must be an object'],
    ['{"trees":[[]]}', 'trees.0 must be an object'],
    ['{"ids":{}}', 'ids must be an array'],
    [
      '{"trees":[1,{"count":0.5}]}',
      'trees.each value in nested property trees must be either object or array; trees.1.count must be an integer number',
    ],
  ])('names the faults of %s: %s', (text, errors) => {
    expect(describeErrors(Tree, text)).toBe(errors);
  });
});

it('a valid object may have any number of values, and a wrong one is not searched for faults', () => {
  class Words {
    @IsString({ each: true })
    words!: string[];
  }
  const list = (last: unknown): string =>
    JSON.stringify({ words: [...Array.from({ length: 3_000 }, () => 'a'), last] });
  expect(describeErrors(Words, list('a'))).toBe('');
  expect(describeErrors(Words, list(1))).toBe(
    'it has more than 3000 values: too many to be transformed or checked',
  );
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
  class ReadsObject {
    @ValidateNested()
    @TypeOf((options) => (options === undefined ? Inner : Untyped))
    inner!: Inner;
  }
  class ArrayOfAny {
    @IsArray()
    words!: unknown[];
  }
  class TwoTypes {
    @IsString()
    @IsInt()
    size!: number;
  }
  class IntAndInt64 {
    @IsInt64()
    @IsInt()
    id!: bigint;
  }
  class InMap {
    @ValidateNested({ each: true })
    @TypeOf(() => Inner)
    sizes!: Map<string, Inner>;
  }
  class Misnamed {
    @ApiProperty({ name: 'full_name' })
    @IsString()
    fullName!: string;
  }
  class Unruled {
    @IsString()
    name!: string;

    @Transform(() => 'a')
    other!: string;
  }

  class Undescribed {
    @IsString()
    name!: string;

    @ApiProperty()
    size!: number;
  }
  class ReadOnly {
    @IsString()
    name!: string;

    @ApiProperty({ readOnly: true })
    size!: number;

    @ApiProperty()
    get length(): number {
      return this.name.length;
    }
  }

  it('lets a class document what is only in answers', () => {
    expect(() => CompiledDto.forRequests(ReadOnly)).not.toThrow();
  });

  it.each<[Type<object>, string]>([
    [Undescribed, 'Undescribed.size: @ApiProperty() does nothing in a request, since no rule says'],
    [Without, 'Without has no member with a rule: decorate each member, such as @IsString() name'],
    [Untyped, 'Untyped.text: no rule says what its type is; add one that does, such as @IsText()'],
    [WithoutType, 'WithoutType.inner: @ValidateNested() needs @Type(() => AClass)'],
    [ReadsObject, 'ReadsObject.inner: @ValidateNested() needs @Type(() => AClass)'],
    [ArrayOfAny, 'ArrayOfAny.words: no rule says what its type is'],
    [TwoTypes, 'TwoTypes.size: no value is of the types integer and string'],
    [IntAndInt64, 'IntAndInt64.id: the rule isInt accepts only JavaScript numbers: leave it out'],
    [InMap, 'InMap.sizes: a Map of objects cannot be read: write an array of objects'],
    [
      Misnamed,
      "Misnamed.fullName: @ApiProperty({ name }) documents a name that is not read: write @Expose({ name: 'full_name' }) too",
    ],
    [
      Unruled,
      'Unruled.other: @Transform() does nothing in a request, since no rule says what its type is',
    ],
  ])('says why: %p', (type, reason) => {
    expect(() => CompiledDto.forRequests(type)).toThrow(reason);
    // The class is not left behind without its rules.
    expect(() => CompiledDto.forRequests(type)).toThrow(reason);
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

  it('differ from those of the classes that a discriminator lists', () => {
    @ApiSchema({ name: 'Cat' })
    class Cat extends Kind {
      @IsInt()
      lives!: number;
    }
    @ApiSchema({ name: 'Cat' })
    class OtherCat extends Kind {
      @IsString()
      name!: string;
    }
    const [Home, OtherHome] = [Cat, OtherCat].map((type) => {
      class Pets {
        @ValidateNested()
        @TypeOf(() => Kind, {
          discriminator: { property: 'kind', subTypes: [{ value: type, name: 'cat' }] },
          keepDiscriminatorProperty: true,
        })
        pet!: Kind;
      }
      ApiSchema({ name: `${type.name}Home` })(Pets);
      return Pets;
    }) as [Type<object>, Type<object>];
    expect(() => compileDocumented([Home, Cat, Home])).not.toThrow();
    const reason = 'Cat and OtherCat are both documented as Cat: ';
    expect(() => compileDocumented([Home, OtherHome])).toThrow(reason);
  });
});

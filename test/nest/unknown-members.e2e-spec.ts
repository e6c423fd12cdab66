import { describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  Module,
  Patch,
  Post,
  UsePipes,
  ValidationPipe,
  type ValidationPipeOptions,
} from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { Expose, Type } from 'class-transformer';
import { IsArray, IsString, ValidateNested } from 'class-validator';
import {
  type BodyLines,
  importLines,
  IsInt64,
  IsJson,
  JsonText,
  Lines,
  MergePatch,
} from 'durable-rest';
import { TestApp } from '../support/fixture-app.js';

const STRICT: ValidationPipeOptions = {
  transform: true,
  whitelist: true,
  forbidNonWhitelisted: true,
};

class PawDto {
  @IsString()
  side!: string;
}

class TailDto {
  @IsString()
  kind!: string;
}

class LongTailDto extends TailDto {
  @IsInt64()
  length!: bigint;
}

class LynxDto {
  @IsInt64()
  id!: bigint;

  @Expose({ name: 'given_name' })
  @IsString()
  name!: string;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PawDto)
  paws!: PawDto[];

  @ValidateNested()
  @Type(() => TailDto, {
    discriminator: { property: 'kind', subTypes: [{ name: 'long', value: LongTailDto }] },
    keepDiscriminatorProperty: true,
  })
  tail!: TailDto;

  @IsJson()
  notes!: JsonText;
}

class DenDto {
  @IsString()
  place!: string;

  @ValidateNested()
  @Type(() => PawDto)
  mark!: PawDto;
}

class DenPatchDto extends MergePatch(DenDto) {}

@Controller('handlers')
class HandlersController {
  @Post()
  @UsePipes(new ValidationPipe(STRICT))
  create(@Body() { name }: LynxDto): unknown {
    return { name };
  }

  @Post('parameter')
  parameter(@Body(new ValidationPipe(STRICT)) { name }: LynxDto): unknown {
    return { name };
  }

  @Post('others')
  others(@Body() { name }: LynxDto): unknown {
    return { name };
  }
}

@Controller('controllers')
@UsePipes(new ValidationPipe(STRICT))
class StrictController {
  @Post()
  create(@Body() { name }: LynxDto): unknown {
    return { name };
  }

  @Patch()
  update(@Body() { place }: DenPatchDto): unknown {
    return { place };
  }

  @Post('import')
  import(@Lines(PawDto) lines: BodyLines<PawDto>): Promise<unknown> {
    return importLines(
      lines,
      (values) =>
        Promise.resolve({
          created: values.length,
          identical: 0,
          failures: new Map<number, never>(),
        }),
      { error: 40999, message: '' },
    );
  }
}

@Module({ controllers: [HandlersController, StrictController] })
class LynxesModule {}

const LYNX = {
  id: 1,
  given_name: 'Lya',
  paws: [{ side: 'left' }, { side: 'right' }],
  tail: { kind: 'long', length: 2 },
  notes: { any: [{ thing: 1 }] },
};

describe('with forbidNonWhitelisted', () => {
  const app = TestApp.forAll({}, LynxesModule);

  it.each([['/handlers'], ['/handlers/parameter'], ['/handlers/others'], ['/controllers']])(
    'POST %s takes what the class names',
    async (path) => {
      const { status, body } = await app.post(path, JSON.stringify(LYNX));
      expect([status, body]).toEqual([201, { name: 'Lya' }]);
    },
  );

  it.each<[string, object, string]>([
    ['a member', { ...LYNX, colour: 'grey' }, 'property colour should not exist'],
    [
      'a member of an element',
      { ...LYNX, paws: [{ side: 'left' }, { side: 'right', claws: 5 }] },
      'paws.1.property claws should not exist',
    ],
    [
      'a member of another class',
      { ...LYNX, tail: { kind: 'long', length: 2, rings: 3 } },
      'tail.property rings should not exist',
    ],
  ])('%s that the class does not name is refused', async (_, lynx, message) => {
    for (const path of ['/handlers', '/handlers/parameter', '/controllers']) {
      const { status, body } = await app.post(path, JSON.stringify(lynx));
      expect([path, status, body]).toEqual([
        path,
        400,
        { error: 40099, message: expect.stringContaining(message) as unknown },
      ]);
    }
    const others = await app.post('/handlers/others', JSON.stringify({ ...LYNX, ...lynx }));
    expect(others.status).toBe(201);
  });

  it.each([
    [{ place: 'north', colour: null }, 'property colour should not exist'],
    [{ mark: { claws: 5 } }, 'mark.property claws should not exist'],
  ])('a merge patch with an unknown member is refused: %j', async (patch, message) => {
    expect(await app.patch('/controllers', '{"place":"north"}')).toMatchObject({ status: 200 });
    expect(await app.patch('/controllers', JSON.stringify(patch))).toMatchObject({
      status: 400,
      body: { error: 40099, message: expect.stringContaining(message) as unknown },
    });
  });

  it('a line of an import is refused alone', async () => {
    const lines = ['{"side":"left"}', '{"side":"left","claws":5}', '{"side":"right"}'].join('\n');
    const { body } = await app.post('/controllers/import', lines, {
      'Content-Type': 'application/x-ndjson',
    });
    expect(body).toMatchObject({
      created: 2,
      failures: [{ line: 2, error: 40002 }],
    });
  });

  it('a long name is cut off', async () => {
    const { body } = await app.post('/handlers', JSON.stringify({ ['x'.repeat(50_000)]: 1 }));
    const { message } = body as { readonly message: string };
    expect(message).toBe(`property ${'x'.repeat(10_000 - 'property '.length)}; and more`);
  });

  it('many unknown members are not all named', async () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`colour${n}`, n]));
    const { body } = await app.post('/handlers', JSON.stringify(many));
    const { message } = body as { readonly message: string };
    expect(message).toContain('colour99 should not exist; and more');
    expect(message).not.toContain('colour101');
  });
});

it('the start says that a pipe for all handlers cannot refuse what the contract wants ignored', async () => {
  @Module({ providers: [{ provide: APP_PIPE, useValue: new ValidationPipe(STRICT) }] })
  class PipeModule {}
  await expect(TestApp.start({}, PipeModule)).rejects.toThrow(
    'write @UsePipes(new ValidationPipe({ ... })) at the controllers',
  );
});

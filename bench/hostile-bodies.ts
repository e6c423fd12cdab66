import { ValidationPipe } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsArray, IsDate, IsInt, IsString, ValidateNested } from 'class-validator';
import { IsInt64, IsText } from 'durable-rest';
import { BODY_LIMIT, parseObject } from '../packages/platform/src/requests/body-reader.js';
import { prepareNest } from '../packages/platform/src/server/nest-pipeline.js';
import { CompiledDto } from '../packages/platform/src/validation/compiled-dto.js';

// Prints how long a body of the largest size keeps other requests waiting, for classes whose members
// the libraries transform and check.

class FlatDto {
  @IsInt64()
  id!: bigint;

  @IsText()
  list!: string;
}

class ArrayDto {
  @IsArray()
  @IsString({ each: true })
  list!: string[];
}

class PartDto {
  @IsString()
  name!: string;

  @IsInt()
  count!: number;
}

class NestedDto {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PartDto)
  list!: PartDto[];
}

class DatesDto {
  @IsDate({ each: true })
  @Type(() => Date)
  list!: Date[];
}

class SetDto {
  @IsString({ each: true })
  @Type(() => String)
  list!: Set<string>;
}

class OtherPartDto extends PartDto {}

class DiscriminatedDto {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PartDto, {
    discriminator: { property: 'kind', subTypes: [{ name: 'other', value: OtherPartDto }] },
  })
  list!: PartDto[];
}

const CLASSES = [FlatDto, ArrayDto, NestedDto, DatesDto, SetDto, DiscriminatedDto];

/** Elements of the list of a body: as many as there is room for, or fewer. */
const ELEMENTS: readonly (readonly [element: string, most: number])[] = [
  ['"2026-11-22"', Infinity],
  ['"2026-11-22"', 2_990],
  ['5', 2_990],
  ['{}', Infinity],
  ['{}', 2_990],
  ['[]', Infinity],
  ['{"name":"a","count":1}', Infinity],
  ['{"name":"a","count":1}', 990],
  ['{"name":5}', 1_400],
  ['{"kind":"other","name":"a","count":1}', 740],
];

/** Repeats a text within the largest body. */
function repeat(text: string, most: number): string {
  const count = Math.min(most, Math.floor((BODY_LIMIT - 100) / (text.length + 1)));
  return Array.from({ length: count }, () => text).join();
}

const BODIES = [
  ...ELEMENTS.map(([element, most]) => [
    `${most === Infinity ? 'a full list' : most} of ${element}`,
    `{"id":1,"list":[${repeat(element, most)}]}`,
  ]),
  ['unknown members', `{"list":[],${repeat('"a":[{}]', Infinity)}}`],
  [
    '60 levels, then arrays',
    `{"list":${'['.repeat(60)}${repeat('[]', Infinity)}${']'.repeat(60)}}`,
  ],
];

const ROUNDS = 9;

/** Resolves with the milliseconds of processor time that a body takes. */
async function time(text: string, dto: CompiledDto, pipes: ValidationPipe[]): Promise<number> {
  const began = process.cpuUsage();
  await parseObject(text, { dto, pipes }, 'line');
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}

prepareNest();
const pipe = new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true });
console.log(
  `${new Date().toISOString()}, Node ${process.version}: milliseconds, median and most of ${ROUNDS}`,
);
for (const [title, pipes] of [
  ['the program', []],
  ['a ValidationPipe of a handler', [pipe]],
] as const) {
  console.log(`\n${title}`);
  for (const type of CLASSES) {
    const dto = CompiledDto.compile(type);
    for (const [name = '', text = ''] of BODIES) {
      const times: number[] = [];
      await time(text, dto, [...pipes]);
      for (let round = 0; round < ROUNDS; round++) times.push(await time(text, dto, [...pipes]));
      times.sort((a, b) => a - b);
      const [median = 0, most = 0] = [times[(ROUNDS - 1) / 2], times.at(-1)];
      console.log(
        `${type.name.padEnd(18)} ${name.padEnd(50)} ${median.toFixed(1)} ${most.toFixed(1)}`,
      );
    }
  }
}

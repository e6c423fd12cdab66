import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Type as TypeOf } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import { NewPlantDto } from '../../../src/modules/plants/dto/new-plant.dto.js';
import { parseObject } from '../../../src/platform/requests/body-reader.js';
import { CompiledDto } from '../../../src/platform/validation/compiled-dto.js';
import type { JsonText } from '../../../src/platform/json/json-text.js';
import {
  IsInt64,
  IsJson,
  IsOptionalNotNull,
} from '../../../src/platform/validation/types.decorators.js';

class Seed {
  @IsInt64()
  id!: bigint;

  @IsOptionalNotNull()
  @ValidateNested()
  @TypeOf(() => Seed)
  parent?: Seed;
}

/** A body with members of classes and of any JSON. */
class NestedDto {
  @ValidateNested()
  @TypeOf(() => Seed)
  seed!: Seed;

  @ValidateNested({ each: true })
  @TypeOf(() => Seed)
  seeds: Seed[] = [];

  @IsOptionalNotNull()
  @IsJson()
  anything?: JsonText;
}

/** The length of the shorter body, and how many times as long the other is. */
const LENGTH = 24_000;
const FACTOR = 4;

/** Bodies that are slow to read, by the pieces that they repeat; `%` is a number that counts up. */
const SLOW: readonly (readonly [before: string, piece: string, after: string])[] = [
  ['{"id":7,"name":{', '"%":0,', '"":0}}'],
  [`{"id":7,"name":${'['.repeat(50)}`, '[],', `[]${']'.repeat(50)}}`],
  ['{', '"\\u0069d":1,', '"id":7}'],
  ['{"id":7,"name":"n","seed":{"id":1},"anything":{', '"\\u0061%":0,"name":"",', '"":0}}'],
  ['{"seed":{"id":1},"seeds":[', '{"\\u0069d":1},{"id":1,"parent":{"id":1}},', '{"id":1}]}'],
];

function makeBody(
  [before, piece, after]: readonly [string, string, string],
  length: number,
): string {
  let body = before;
  for (let count = 0; body.length < length; count++) body += piece.replace('%', String(count));
  // The program decodes a body. V8 reads a text that was put together more slowly, until the garbage
  // collector has joined its parts.
  return Buffer.from(body + after).toString();
}

/** So many runs that V8 collects garbage, and then uses memory again that the system has provided. */
const RUNS = 40;

/**
 * Measures the processor time in milliseconds, which other load on the machine does not increase.
 * It takes the minimum of several runs, since other work of this process does.
 */
function measureCost(text: string, dto: CompiledDto): number {
  let least = Infinity;
  for (let run = 0; run < RUNS; run++) {
    const began = process.cpuUsage();
    try {
      parseObject(text, dto, 'body');
    } catch {
      // Invalid bodies must not take longer either.
    }
    const { user, system } = process.cpuUsage(began);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

describe.each<Type<object>>([NewPlantDto, NestedDto])('reading a body as %p', (type) => {
  it.each(SLOW)('takes time linear in its length: %s%s', (...pieces) => {
    const dto = CompiledDto.compile(type);
    const short = measureCost(makeBody(pieces, LENGTH), dto);
    const long = measureCost(makeBody(pieces, FACTOR * LENGTH), dto);
    expect(long).toBeLessThan(2.5 * FACTOR * short);
  });
});

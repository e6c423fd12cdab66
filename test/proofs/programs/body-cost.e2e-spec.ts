import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import { IsInt, IsOptional } from 'class-validator';
import type { Request } from 'express';
import { NewPlantDto } from '../../../src/modules/plants/dto/plant.dto.js';
import { type Decimal, IsDecimal, IsInstant, IsInt64, IsJson, type JsonText } from 'durable-rest';
import { parseObject } from '../../../packages/platform/src/requests/body-reader.js';
import { setParameters } from '../../../packages/platform/src/requests/read-parameters.js';
import { CompiledDto } from '../../../packages/platform/src/validation/compiled-dto.js';

/** The length of the shorter body, and how many times as long the other is. */
const LENGTH = 24_000;
const FACTOR = 4;
/** No body of the longer length takes more, in milliseconds. On an idle machine it is a quarter. */
const MAX_COST = 16;
/** So many runs that V8 collects garbage, and then uses memory again that the system has provided. */
const RUNS = 40;

/** Bodies that are slow to read, by the pieces that they repeat; `%` is a number that counts up. */
const SLOW: readonly (readonly [before: string, piece: string, after: string])[] = [
  ['{"id":7,"name":{', '"%":0,', '"":0}}'],
  [`{"id":7,"name":${'['.repeat(50)}`, '[],', `[]${']'.repeat(50)}}`],
  ['{', '"\\u0069d":1,', '"id":7}'],
  ['{"id":7,"name":"n","anything":{', '"\\u0061%":0,"name":"",', '"":0}}'],
  ['{"id":7,"name":"n","int64s":[', '1e1,', '"1"]}'],
  ['{"id":7,"name":"n","decimals":[', '1,', '1]}'],
  ['{"id":7,"name":"n","decimals":[1', '0', 'e99999]}'],
  ['{"id":7,"name":"n","instants":[', '"2026-11-22T10:00:00Z",', '""]}'],
  ['{"id":7,"name":"n","json":[', `${'['.repeat(60)}0${']'.repeat(60)},`, '0]}'],
  ['{"id":7,"name":"n","json":[1', '0', 'e99999]}'],
  ['{"id":7,"name":"n","jsons":[', '{"a":1,"a":1},', '0]}'],
];

class ListsDto extends NewPlantDto {
  @IsOptional()
  @IsInt64({ each: true })
  int64s?: bigint[];

  @IsOptional()
  @IsDecimal(12, 2, { each: true })
  decimals?: Decimal[];

  @IsOptional()
  @IsInstant({ each: true })
  instants?: string[];

  @IsOptional()
  @IsJson()
  json?: JsonText;

  @IsOptional()
  @IsJson({ each: true })
  jsons?: JsonText[];
}

const dto = CompiledDto.compile(ListsDto);

class QueryDto {
  @IsOptional()
  @IsInt()
  limit?: number;
}

/** The names of the parameters that a handler takes beside those of its class. */
const TAG = new Set(['tag']);

/**
 * Measures the processor time, which other load on the machine does not increase. It takes the
 * minimum of several runs, since other work of this process does.
 */
function measureCost(read: () => unknown): number {
  const costs = Array.from({ length: RUNS }, () => {
    const began = process.cpuUsage();
    try {
      // No rule is asynchronous, so this is no promise.
      void read();
    } catch {
      // Invalid requests must not take longer either.
    }
    const { user, system } = process.cpuUsage(began);
    return user + system;
  });
  return Math.min(...costs);
}

function measureBody([before, piece, after]: (typeof SLOW)[number], length: number): number {
  let body = before;
  for (let count = 0; body.length < length; count++) body += piece.replace('%', String(count));
  // The program decodes a body. V8 reads a text that was put together more slowly, until the garbage
  // collector has joined its parts.
  const text = Buffer.from(body + after).toString();
  return measureCost(() => parseObject(text, { dto }, 'body'));
}

it.each(SLOW)('reading a body takes time linear in its length: %s%s', (...pieces) => {
  const short = measureBody(pieces, LENGTH);
  const long = measureBody(pieces, FACTOR * LENGTH);
  expect(long).toBeLessThan(2.5 * FACTOR * short);
  expect(long).toBeLessThan(MAX_COST * 1_000);
});

/** The length of a query that fits into the headers of a request. */
const QUERY_LENGTH = 16_000;

it.each(['limit', '%6Cimit=1', 'x', 'tag=a'])(
  'reading a query takes time linear in its length: %s',
  (parameter) => {
    const parameters = { dto: CompiledDto.compile(QueryDto), singles: TAG, textNames: TAG };
    const measure = (length: number): number => {
      const query = `${parameter}&`.repeat(length / (parameter.length + 1));
      const read = (): unknown =>
        setParameters(
          { url: `/?${query}`, headers: {}, state: {} } as Request,
          parameters,
          undefined,
        );
      return measureCost(read);
    };
    const [short, long] = [measure(QUERY_LENGTH / FACTOR), measure(QUERY_LENGTH)];
    expect(long).toBeLessThan(2.5 * FACTOR * short);
    expect(long).toBeLessThan(MAX_COST * 1_000);
  },
);

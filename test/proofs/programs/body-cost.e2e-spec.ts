import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import { NewPlantDto } from '../../../src/modules/plants/dto/new-plant.dto.js';
import { parseObject } from '../../../src/platform/requests/body-reader.js';
import { CompiledDto } from '../../../src/platform/validation/compiled-dto.js';

/** The length of the shorter body, and how many times as long the other is. */
const LENGTH = 24_000;
const FACTOR = 4;
/** So many runs that V8 collects garbage, and then uses memory again that the system has provided. */
const RUNS = 40;

/** Bodies that are slow to read, by the pieces that they repeat; `%` is a number that counts up. */
const SLOW: readonly (readonly [before: string, piece: string, after: string])[] = [
  ['{"id":7,"name":{', '"%":0,', '"":0}}'],
  [`{"id":7,"name":${'['.repeat(50)}`, '[],', `[]${']'.repeat(50)}}`],
  ['{', '"\\u0069d":1,', '"id":7}'],
  ['{"id":7,"name":"n","anything":{', '"\\u0061%":0,"name":"",', '"":0}}'],
];

const dto = CompiledDto.compile(NewPlantDto);

/**
 * Measures the processor time, which other load on the machine does not increase. It takes the
 * minimum of several runs, since other work of this process does.
 */
function measureCost([before, piece, after]: (typeof SLOW)[number], length: number): number {
  let body = before;
  for (let count = 0; body.length < length; count++) body += piece.replace('%', String(count));
  // The program decodes a body. V8 reads a text that was put together more slowly, until the garbage
  // collector has joined its parts.
  const text = Buffer.from(body + after).toString();
  const costs = Array.from({ length: RUNS }, () => {
    const began = process.cpuUsage();
    try {
      parseObject(text, dto, 'body');
    } catch {
      // Invalid bodies must not take longer either.
    }
    const { user, system } = process.cpuUsage(began);
    return user + system;
  });
  return Math.min(...costs);
}

it.each(SLOW)('reading a body takes time linear in its length: %s%s', (...pieces) => {
  const short = measureCost(pieces, LENGTH);
  expect(measureCost(pieces, FACTOR * LENGTH)).toBeLessThan(2.5 * FACTOR * short);
});

import { expect, it } from '@jest/globals';
import { IsInt } from 'class-validator';
import type { Response } from 'express';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { RequestState } from '../state/request-state.js';
import { CLIENT_MEMORY, RequestLimits } from '../limits/request-limits.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import { BodyLines, NDJSON_TYPE } from './body-lines.js';
import { BODY_LIMIT, type JsonRule } from './body-reader.js';

class CountDto {
  @IsInt()
  count!: number;
}

const RULE: JsonRule = {
  kind: 'lines',
  mediaTypes: [NDJSON_TYPE],
  limit: BODY_LIMIT,
  dto: CompiledDto.compile(CountDto),
};

/** The lines of a body that arrives as a whole. */
function receive(body: string): BodyLines<CountDto> {
  const headers = { 'content-type': NDJSON_TYPE, 'transfer-encoding': 'chunked' };
  const req = Object.assign(new PassThrough().end(body), {
    complete: true,
    headers,
    rawHeaders: [],
    state: new RequestState(new RequestLimits()),
  });
  const response = Object.assign(new EventEmitter(), { req }) as unknown as Response;
  const { signal } = new AbortController();
  return new BodyLines<CountDto>(response, RULE, 1_000, signal, undefined as never);
}

/** Reads a body that arrives as a whole, and returns the numbers of the faulty lines of each batch. */
async function read(body: string): Promise<number[][]> {
  const batches: number[][] = [];
  const lines = receive(body);
  for await (const batch of lines) {
    const { failures } = await lines.read(batch);
    batches.push([...failures.keys()]);
  }
  return batches;
}

it.each<[string, string, number]>([
  ['short', '1\n'.repeat(30_000), 30_000],
  ['short at the end', '1\n'.repeat(20_000) + 'x'.repeat(20_000), 20_001],
  ['short at the beginning', 'x'.repeat(20_000) + '\n1'.repeat(20_000), 20_001],
  ['not UTF-8', '1\n'.repeat(5_000) + '\ud800\n'.repeat(5_000), 10_000],
])(
  'reads at most 1,024 lines at once, and every line once, of lines that are %s',
  async (...row) => {
    const [, body, count] = row;
    const batches = await read(body);
    expect(Math.max(...batches.map(({ length }) => length))).toBeLessThanOrEqual(1_024);
    expect(batches.flat()).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  },
);

it('refuses a body whose results take more memory than all clients may hold', async () => {
  const body = receive('x\n'.repeat(40_000));
  body.resultBytes = CLIENT_MEMORY + 1;
  const reading = (async () => {
    for await (const batch of body) await body.read(batch);
  })();
  await expect(reading).rejects.toMatchObject({ status: 503 });
});

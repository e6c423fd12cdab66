import { expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { heapUsed } from '../../../../test/support/heap-used.js';
import { until } from '../testing/until.js';
import type { ApiError } from '../errors/api-error.js';
import { RequestState } from '../state/request-state.js';
import { CLIENT_MEMORY, RequestLimits } from '../limits/request-limits.js';
import type { CompiledDto } from '../validation/compiled-dto.js';
import { GrowingBuffer } from './body-chunks.js';
import { BODY_LIMIT, makeJsonRule, readBody } from './body-reader.js';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const RULE = makeJsonRule({} as CompiledDto);

const limits = new RequestLimits();

function request(ip = '192.0.2.1', rawHeaders: string[] = []): PassThrough & IncomingMessage {
  const stream = new PassThrough();
  Object.defineProperty(stream, 'complete', { get: () => stream.writableFinished });
  return Object.assign(stream, {
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    state: new RequestState(limits),
    ip,
    rawHeaders,
    httpVersion: '1.1',
  }) as unknown as PassThrough & IncomingMessage;
}

function read(req: IncomingMessage): Promise<Buffer> {
  return readBody({ req } as never, RULE, HOUR_MS);
}

it('keeps no chunk, however small, and nothing that was read together with it', async () => {
  const req = request();
  const body = read(req);
  heapUsed();
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < 1_000; index++) {
    req.write(Buffer.alloc(65_536, 32).subarray(0, 1));
    // Chunks that arrive in one turn are read as one.
    await nextTurn();
  }
  // All that was read together is 63 MiB. Its memory is freed a while after a collection.
  await until(() => {
    heapUsed();
    return process.memoryUsage().arrayBuffers - before < 10 * MIB;
  });
  req.end('{}');
  expect(String(await body).trim()).toBe('{}');
});

it('keeps no more of a body than says that it is too long', async () => {
  const req = request();
  const body = read(req);
  for (let index = 0; index < 4; index++) req.write(Buffer.alloc(BODY_LIMIT / 2));
  await expect(body).rejects.toMatchObject({ status: 413 });
});

it('counts the headers of requests whose bodies have not arrived, and drops the first of a client', async () => {
  const others = request('192.0.2.2', ['Host', 'a', 'Content-Type', 'application/json']);
  const honest = read(others);
  const outcomes = Array.from({ length: CLIENT_MEMORY / MIB }, () => 'waits');
  const waiting = outcomes.map((_, index) => {
    const req = request('192.0.2.1', ['X', 'x'.repeat(MIB)]);
    void read(req).catch((error: unknown) => {
      outcomes[index] = `gets ${(error as Partial<ApiError>).getStatus?.()}`;
    });
    return req;
  });
  await nextTurn();
  expect(outcomes).toEqual(['gets 503', ...outcomes.slice(1).fill('waits')]);
  others.end('{}');
  expect(String(await honest)).toBe('{}');
  for (const req of waiting) req.destroy();
});

it('a growing buffer keeps all bytes in their order, up to its limit', () => {
  const buffer = new GrowingBuffer(100_000);
  const all: Buffer[] = [];
  for (let size = 1; buffer.bytes.length < 100_000; size *= 3) {
    all.push(Buffer.alloc(size, size));
    buffer.add(Buffer.alloc(size, size));
    expect(buffer.bytes.equals(Buffer.concat(all).subarray(0, 100_000))).toBe(true);
  }
  buffer.clear();
  buffer.add(Buffer.from('again'));
  expect(String(buffer.bytes)).toBe('again');
});

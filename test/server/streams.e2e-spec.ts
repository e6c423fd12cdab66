import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, StreamableFile } from '@nestjs/common';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { ApiBytes } from '../../src/platform/rest/bytes.js';
import { makeEtag, type Representation } from '../../src/platform/rest/etag.js';
import { ApiStream } from '../../src/platform/rest/api.decorators.js';
import { resetClocks, stopClock } from '../support/clock.js';
import { expectError } from '../support/expect-error.js';
import { openSocket } from '../support/http/connection.js';
import { recordLog } from '../support/record-log.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

/** How many pieces the long stream has: more than the buffers of both sides hold. */
const LONG = 500;
const PIECE = 'a row\n'.repeat(10_000);

/** Counts of the streams below. */
const made = { pieces: 0, ended: 0 };
/** The files that were opened. */
const opened: Readable[] = [];

async function* makePieces(count: number, failAt = Infinity): AsyncGenerator<string> {
  try {
    for (let piece = 0; piece < count; piece++) {
      await Promise.resolve();
      if (piece === failAt) throw new TypeError('a bug');
      made.pieces++;
      yield PIECE;
    }
  } finally {
    made.ended++;
  }
}

@Controller('streams')
class StreamsController {
  @Get('all')
  @ApiStream('text/csv; charset=utf-8', 'All rows')
  all(): AsyncIterable<string> {
    return makePieces(3);
  }

  @Get('long')
  @ApiStream('text/plain', 'More than any buffer holds')
  long(): AsyncIterable<string> {
    return makePieces(LONG);
  }

  @Get('fails-first')
  @ApiStream('text/csv', 'An error before the first byte')
  failFirst(): AsyncIterable<string> {
    return makePieces(3, 0);
  }

  @Get('fails-later')
  @ApiStream('text/csv', 'An error after the first byte')
  failLater(): AsyncIterable<string> {
    return makePieces(3, 1);
  }

  @Get('file')
  @ApiBytes(['image/png', 'text/plain'], 'A file')
  file(): Representation<StreamableFile> {
    const file = Readable.from(makePieces(1));
    opened.push(file);
    const body = new StreamableFile(file, { length: PIECE.length });
    return { body, etag: makeEtag(PIECE.length) };
  }

  @Get('buffer')
  @ApiBytes(['text/plain'], 'Bytes in memory')
  buffer(): Representation<Buffer> {
    return { body: Buffer.from(PIECE), etag: makeEtag(PIECE.length) };
  }

  @Get('file-fails')
  failFile(): StreamableFile {
    return new StreamableFile(Readable.from(makePieces(1, 0)));
  }
}

@Module({ controllers: [StreamsController] })
class StreamsModule {}

beforeEach(() => void Object.assign(made, { pieces: 0, ended: 0 }));
afterEach(resetClocks);

const app = TestApp.forEach({}, StreamsModule);

describe('a stream', () => {
  it('answers HEAD with its headers, and generates no further pieces', async () => {
    const answer = await app.request('HEAD', '/streams/all', { headers: app.authorization });
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(made.ended).toBe(1);
  });

  it.each(['file', 'buffer'])(
    'of bytes has an ETag, and ends if it is not sent: a %s',
    async (from) => {
      const path = `/streams/${from}`;
      const etag = makeEtag(PIECE.length);
      const { text, headers } = await app.get(path);
      expect([text, headers.get('etag')]).toEqual([PIECE, etag]);
      expect(headers.get('content-length')).toBe(String(PIECE.length));
      expect(await app.get(path, { 'If-None-Match': etag })).toMatchObject({ status: 304 });
      expectError(await app.get(path, { 'If-Match': '"x"' }), 'PRECONDITION_FAILED');
      expect(opened.every(({ destroyed }) => destroyed)).toBe(true);
    },
  );

  it.each(['fails-first', 'file-fails'])(
    'that fails before its first byte is answered in the Error shape: %s',
    async (path) => {
      expectError(await app.get(`/streams/${path}`), 'INTERNAL');
    },
  );

  it('that fails later breaks the connection, and the log says so', async () => {
    const log = recordLog(app, 'info');
    // A reset may also discard what has arrived, which fetch() calls 'fetch failed'.
    await expect(app.get('/streams/fails-later')).rejects.toMatchObject({ name: 'TypeError' });
    await until(() => log.length === 2);
    expect(log.map((line) => JSON.parse(line) as object)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ status: 200, incomplete: true }),
        expect.objectContaining({ level: 50, msg: 'a bug' }),
      ]),
    );
  });
});

/** Asks for the long stream, and reads nothing of it. */
async function openLongStream(): Promise<Socket> {
  const socket = openSocket(app.port).pause();
  socket.write(
    `GET /streams/long HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
  );
  await once(socket, 'readable');
  return socket;
}

describe('a long stream', () => {
  it('is generated only as fast as its client reads', async () => {
    const socket = await openLongStream();
    const { pieces } = made;
    for (let request = 0; request < 20; request++) await app.get('/health/live');
    expect(made.pieces).toBeLessThan(Math.max(pieces, LONG / 2));
    socket.destroy();
    await once(socket, 'close');
  });

  it('ends when its client disconnects', async () => {
    const socket = await openLongStream();
    socket.destroy();
    while (made.ended === 0) await app.get('/health/live');
    expect(made.pieces).toBeLessThan(LONG);
  });

  it('is sent whole to a client that reads while the program stops', async () => {
    const socket = await openLongStream();
    // However slow this machine is, the stop has time for the whole stream.
    stopClock();
    const closed = app.nest.close();
    let received = 0;
    socket.on('data', (chunk: Buffer) => (received += chunk.length));
    await once(socket, 'end');
    expect(received).toBeGreaterThan(LONG * PIECE.length);
    await closed;
  });
});

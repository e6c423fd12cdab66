import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Header, Module, Param, Res, StreamableFile } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsString } from 'class-validator';
import compression from 'compression';
import type { Response } from 'express';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { ApiBytes, ApiStream, makeEtag, type Representation } from 'durable-rest';
import { expectError, resetClocks, stopClock, TOKEN, until } from 'durable-rest/testing';
import { openSocket } from '../support/http/connection.js';
import { countHeld } from '../support/limits.js';
import { recordLog } from '../support/record-log.js';
import { TestApp } from '../support/fixture-app.js';

/** How many pieces the long stream has: more than the buffers of both sides hold. */
const LONG = 500;
const PIECE = 'a row\n'.repeat(10_000);
/** A piece that is as long when it is compressed. */
const RANDOM_PIECE = randomBytes(PIECE.length);

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

/** The second answer of a connection, as a file may hold it. */
const FORGED = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

/** Lengths that streams claim, and their pieces. */
const WRONG_LENGTHS: Record<string, [number, string[]]> = {
  'short at once': [100, ['too short']],
  'short later': [100, ['too', 'short']],
  empty: [100, []],
  'long at once': [3, ['too long', FORGED]],
  'long later': [3, ['too', FORGED]],
};

class LengthsDto {
  @IsString()
  @ApiProperty()
  readonly from!: string;
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

  @Get('random')
  random(): StreamableFile {
    const pieces = Readable.from(makePieces(LONG)).map(() => RANDOM_PIECE);
    return new StreamableFile(pieces, { type: 'text/plain' });
  }

  @Get('piped')
  pipe(@Res() response: Response): void {
    Readable.from(makePieces(LONG)).pipe(response);
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

  @Get('wrong-length/:from')
  wrongLength(@Param() { from }: LengthsDto): StreamableFile {
    const [length, pieces] = WRONG_LENGTHS[from] ?? [0, []];
    return new StreamableFile(Readable.from(pieces), { length });
  }

  @Get('own-length')
  @Header('Content-Length', '3')
  @ApiStream('text/plain', 'Longer than its header says')
  ownLength(): AsyncIterable<string> {
    return makePieces(1);
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

  it.each(['own-length', ...Object.keys(WRONG_LENGTHS).map((from) => `wrong-length/${from}`)])(
    'of another length than it claims neither splits nor hangs its connection: %s',
    async (path) => {
      const socket = openSocket(app.port);
      let received = '';
      socket.setEncoding('latin1').on('data', (text: string) => (received += text));
      socket.write(
        `GET /streams/${encodeURI(path)} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
      );
      await until(() => socket.closed || received.includes('"error":50000'));
      expect(received.split('HTTP/1.1')).toHaveLength(received === '' ? 1 : 2);
      socket.destroy();
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

/** Asks for a stream, and reads nothing of it. */
async function openUnread(port: number, path: string, ...headers: string[]): Promise<Socket> {
  const socket = openSocket(port).pause();
  const head = [
    `GET /streams/${path} HTTP/1.1`,
    'Host: a',
    `Authorization: Bearer ${TOKEN}`,
    'Connection: close',
    ...headers,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

const openLongStream = (): Promise<Socket> => openUnread(app.port, 'long');

describe('a stream of which its client reads nothing', () => {
  const compressing = TestApp.configured((nest) => nest.use(compression()), StreamsModule);

  it.each([
    ['as it is', () => openLongStream()],
    ['compressed', () => openUnread(compressing.port, 'random', 'Accept-Encoding: gzip')],
    ['piped by a module', () => openUnread(app.port, 'piped')],
  ])('is generated only as far as the buffers hold: %s', async (_, open) => {
    const socket = await open();
    const { pieces } = made;
    for (let request = 0; request < 20; request++) await app.get('/health/live');
    expect(made.pieces).toBeLessThan(Math.max(pieces, LONG / 2));
    socket.destroy();
    await once(socket, 'close');
  });

  it('counts as memory of its client, also if a module pipes it', async () => {
    const socket = await openUnread(app.port, 'piped');
    await until(() => countHeld(app) > 0);
    socket.destroy();
    await until(() => countHeld(app) === 0);
  });
});

describe('a long stream', () => {
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

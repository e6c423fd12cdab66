import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, Logger, Module, StreamableFile } from '@nestjs/common';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { PinoLogger } from '../../src/platform/observability/pino-logger.js';
import { ApiStream } from '../../src/platform/rest/api-stream.decorator.js';
import { UNSENT_LIMIT } from '../../src/platform/server/send-stream.js';
import { resetClocks, stopClock } from '../support/clock.js';
import { expectError } from '../support/expect-error.js';
import { listServerSockets } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

/** How many pieces the long stream has: more than the buffers of both sides hold. */
const LONG = 500;
const PIECE = 'a row\n'.repeat(10_000);

/** Counts of the streams below. */
const made = { pieces: 0, ended: 0 };

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

  @Get('none')
  @ApiStream('text/csv', 'No rows')
  none(): AsyncIterable<string> {
    return makePieces(0);
  }

  @Get('long')
  @ApiStream('text/plain', 'More than any buffer holds')
  long(): AsyncIterable<string> {
    return makePieces(LONG);
  }

  @Get('large-piece')
  @ApiStream('text/plain', 'A piece beyond the bound on answers that clients have not read')
  largePiece(): AsyncIterable<string> {
    return Readable.from([PIECE, 'x'.repeat(UNSENT_LIMIT + 1)]);
  }

  @Get('large-characters')
  @ApiStream('text/plain', 'The same with fewer characters than bytes')
  largeCharacters(): AsyncIterable<string> {
    return Readable.from([PIECE, '植'.repeat(UNSENT_LIMIT / 2)]);
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
  sendFile(): StreamableFile {
    return new StreamableFile(Buffer.from('a file'), { type: 'image/png', disposition: 'inline' });
  }

  @Get('file-fails')
  failFile(): StreamableFile {
    return new StreamableFile(Readable.from(makePieces(1, 0)));
  }
}

@Module({ controllers: [StreamsController] })
class StreamsModule {}

let app: TestApp;

beforeEach(async () => {
  Object.assign(made, { pieces: 0, ended: 0 });
  app = await TestApp.start({}, StreamsModule);
});

afterEach(async () => {
  resetClocks();
  jest.restoreAllMocks();
  await app.close();
});

describe('a stream', () => {
  it('is answered whole, with its media type', async () => {
    const answer = await app.get('/streams/all');
    expect(answer).toMatchObject({ status: 200, text: PIECE.repeat(3) });
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(made.ended).toBe(1);
  });

  it('may be empty', async () => {
    expect(await app.get('/streams/none')).toMatchObject({ status: 200, text: '' });
  });

  it('answers HEAD with its headers, and generates no further pieces', async () => {
    const answer = await app.request('HEAD', '/streams/all', { headers: app.authorization });
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(made.ended).toBe(1);
  });

  it.each(['fails-first', 'file-fails'])(
    'that fails before its first byte is answered in the Error shape: %s',
    async (path) => {
      jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      expectError(await app.get(`/streams/${path}`), 'INTERNAL');
    },
  );

  it('that fails later breaks the connection, and the log says so', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const requests = jest.spyOn(app.nest.get(PinoLogger), 'request');
    await expect(app.get('/streams/fails-later')).rejects.toThrow('terminated');
    expect(requests).toHaveBeenCalledWith(
      'info',
      expect.objectContaining({ status: 200, incomplete: true }),
    );
    expect(logged).toHaveBeenCalledWith(expect.objectContaining({ message: 'a bug' }));
  });

  it("may be one of Nest's files", async () => {
    const answer = await app.get('/streams/file');
    expect(answer).toMatchObject({ status: 200, text: 'a file' });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': 'inline',
      'content-length': '6',
    });
  });
});

/** Asks for the long stream, and reads nothing of it. */
async function openLongStream(): Promise<Socket> {
  const socket = connect(app.port, '127.0.0.1').pause();
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

describe('a stream over HTTP/1.0, which ends with its connection,', () => {
  /** The exit code of curl if the connection was reset. */
  const RESET = 56;

  /** Asks for a stream with curl, which Node's client cannot replace: it may hide a reset. */
  function startCurl(path: string): ChildProcessByStdio<null, Readable, null> {
    const header = `Authorization: Bearer ${TOKEN}`;
    const args = ['--http1.0', '-s', '-H', header, new URL(`/streams/${path}`, app.url).href];
    return spawn('curl', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  }

  /** Reads the stream, and returns it with the exit code. */
  async function readAll(
    curl: ChildProcessByStdio<null, Readable, null>,
  ): Promise<{ text: string; code: unknown }> {
    const closed = once(curl, 'close');
    let text = '';
    for await (const chunk of curl.stdout) text += String(chunk);
    const [code] = (await closed) as unknown[];
    return { text, code };
  }

  it('is whole if the connection ends', async () => {
    expect(await readAll(startCurl('all'))).toEqual({ text: PIECE.repeat(3), code: 0 });
  });

  it('is reset when it fails', async () => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    expect((await readAll(startCurl('fails-later'))).code).toBe(RESET);
  });

  it.each(['large-piece', 'large-characters'])(
    'is reset at the bound on answers that clients have not read: %s',
    async (route) => {
      expect((await readAll(startCurl(route))).code).toBe(RESET);
    },
  );

  it('is reset when its client reads nothing for SEND_TIMEOUT_MS', async () => {
    const sockets = listServerSockets(app);
    const curl = startCurl('long');
    // The system takes no more.
    await until(() => sockets.some(({ writableLength }) => writableLength > 0));
    sockets[0]?.emit('timeout');
    expect((await readAll(curl)).code).toBe(RESET);
    expect(made.pieces).toBeLessThan(LONG);
  });
});

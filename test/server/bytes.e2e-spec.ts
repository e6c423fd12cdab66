import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Param, Put, StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { Readable } from 'node:stream';
import { IdDto } from '../../src/platform/rest/id.dto.js';
import { ApiBytes, RawBody } from '../../src/platform/rest/bytes.js';
import { makeEtag, type Representation } from '../../src/platform/rest/etag.js';
import { expectError } from '../support/expect-error.js';
import { exchange } from '../support/http/connection.js';
import { type Answer, TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

const LIMIT = 300_000;
const PNG = { 'Content-Type': 'image/png' };
/** The bytes are no text: the first of them is not UTF-8. */
const PHOTO = Uint8Array.from({ length: LIMIT }, (_, index) => 255 - (index % 256));

let stored: Buffer = Buffer.alloc(0);
const opened: Readable[] = [];

@Controller('photos')
class PhotosController {
  @Put(':id')
  @ApiOkResponse({ description: 'The length of the photo' })
  put(
    @Param() { id }: IdDto,
    @RawBody(['image/png', 'image/jpeg'], LIMIT) photo: Buffer,
  ): { id: bigint; length: number } {
    stored = photo;
    return { id, length: photo.length };
  }

  @Get('buffer')
  @ApiBytes(['image/png'], 'The photo')
  getBuffer(): Representation<Buffer> {
    return { body: stored, etag: makeEtag(stored.length) };
  }

  @Get('file')
  @ApiBytes(['image/jpeg', 'image/png'], 'The photo, from a file')
  getFile(): Representation<StreamableFile> {
    const file = Readable.from([stored]);
    opened.push(file);
    const body = new StreamableFile(file, { type: 'image/png', length: stored.length });
    return { body, etag: makeEtag(stored.length) };
  }
}

@Module({ controllers: [PhotosController] })
class PhotosModule {}

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({}, PhotosModule);
});

afterAll(() => app.close());

async function put(body: Uint8Array<ArrayBuffer> | string, headers = {}): Promise<Answer> {
  return await app.put('/photos/7', body, { ...PNG, ...headers });
}

describe('a body of bytes', () => {
  it('reaches the handler as it was sent, in one piece or in chunks', async () => {
    expect((await put(PHOTO)).body).toEqual({ id: 7, length: LIMIT });
    expect(stored.equals(PHOTO)).toBe(true);
    const head = `PUT /photos/7 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: image/jpeg\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const received = await exchange(app.port, `${head}3\r\n\u00ff\u0000\n\r\n2\r\nab\r\n0\r\n\r\n`);
    expect(received).toContain('200 OK');
    expect([...stored]).toEqual([0xff, 0, 0x0a, 0x61, 0x62]);
  });

  it('is refused for its token, its path, its absence, its type and its length, in this order', async () => {
    const long = new Uint8Array(LIMIT + 1);
    expectError(await put(long, { Authorization: '' }), 'TOKEN_MISSING');
    expectError(await app.put('/photos/x', '', PNG), 'INVALID_PARAMETERS');
    expectError(await put('', { 'Content-Type': 'text/plain' }), 'UNREADABLE_BODY');
    const type = await put(long, { 'Content-Type': 'text/plain' });
    expectError(
      type,
      'UNSUPPORTED_MEDIA_TYPE',
      expect.stringMatching(/image\/png or image\/jpeg, w/),
    );
    const encoded = await put(PHOTO, { 'Content-Encoding': 'gzip' });
    expectError(encoded, 'UNSUPPORTED_MEDIA_TYPE');
    expectError(await put(long), 'BODY_TOO_LARGE', `The body is larger than ${LIMIT} bytes`);
  });
});

describe.each(['buffer', 'file'])('an answer of bytes from a %s', (source) => {
  it('has its media type, its length and its ETag, also for HEAD', async () => {
    await put(PHOTO);
    const url = `${app.url.origin}/photos/${source}`;
    const got = await fetch(url, { headers: app.authorization });
    expect(got.status).toBe(200);
    expect(Buffer.from(await got.arrayBuffer()).equals(PHOTO)).toBe(true);
    const headed = await app.request('HEAD', `/photos/${source}`, { headers: app.authorization });
    expect(headed).toMatchObject({ status: 200, text: '' });
    for (const { headers } of [got, headed]) {
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': 'image/png',
        'content-length': String(LIMIT),
        etag: makeEtag(LIMIT),
      });
    }
  });

  it('is 304 to a client that has it, and 412 to one that wants another', async () => {
    const path = `/photos/${source}`;
    const current = await app.get(path, { 'If-None-Match': makeEtag(stored.length) });
    expect(current).toMatchObject({ status: 304, text: '' });
    expect(current.headers.get('etag')).toBe(makeEtag(stored.length));
    expectError(await app.get(path, { 'If-Match': '"other"' }), 'PRECONDITION_FAILED');
    expect(opened.every(({ destroyed }) => destroyed)).toBe(true);
  });
});

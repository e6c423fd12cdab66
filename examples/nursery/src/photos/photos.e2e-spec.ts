import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, expectError } from 'durable-rest/testing';
import { NurseryApp } from '../../test/nursery-app.js';
import { PhotoErrors } from './photos.errors.js';

const MIB = 1024 * 1024;
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(40, 1)]);
const LONG = new Uint8Array(5 * MIB + 1);
const JPEG = Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.alloc(40, 2)]);

const app = NurseryApp.forAll();
let variety: string;
let path: string;

beforeEach(async () => {
  variety = `/varieties/${await app.createVariety('Monstera')}`;
  path = `${variety}/photo`;
});

function put(photo: Uint8Array, type = 'image/png'): Promise<Answer> {
  return app.put(path, Uint8Array.from(photo), { 'Content-Type': type });
}

describe('/varieties/{id}/photo', () => {
  it('has the photo that was sent last, until it is removed', async () => {
    expectError(await app.get(path), PhotoErrors.PHOTO_NOT_FOUND);
    expectError(await app.delete(path), PhotoErrors.PHOTO_NOT_FOUND);
    for (const [photo, type] of [
      [PNG, 'image/png'],
      [JPEG, 'image/jpeg'],
    ] as const) {
      const { status, text } = await put(photo, type);
      expect([type, status, text]).toEqual([type, 204, '']);
      const got = await fetch(app.url.origin + path, { headers: app.authorization });
      expect(Buffer.from(await got.arrayBuffer())).toEqual(photo);
      const head = await app.request('HEAD', path, { headers: app.authorization });
      for (const answer of [got, head]) {
        const described = ['content-type', 'content-length'].map((name) =>
          answer.headers.get(name),
        );
        expect([answer.status, ...described]).toEqual([200, type, String(photo.length)]);
      }
      const again = await app.get(path, { 'If-None-Match': got.headers.get('etag') ?? '' });
      expect([type, again.status]).toEqual([type, 304]);
    }
    expect(await app.delete(path)).toMatchObject({ status: 204 });
    expectError(await app.get(path), PhotoErrors.PHOTO_NOT_FOUND);
  });

  it('is public, and refuses a token, a path, an absence, a type and a length in this order', async () => {
    await put(PNG);
    expect(await app.request('GET', path)).toMatchObject({ status: 200 });
    const long = { 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip' };
    expectError(await app.put(path, LONG, { ...long, Authorization: '' }), 'TOKEN_MISSING');
    expectError(await app.put('/varieties/x/photo', '', long), 'INVALID_PARAMETERS');
    expectError(await app.put(path, '', long), 'UNREADABLE_BODY');
    expectError(await app.put(path, LONG, long), 'UNSUPPORTED_MEDIA_TYPE');
    expectError(await put(LONG), 'BODY_TOO_LARGE');
    expectError(await app.get(path, { 'If-Match': '"other"' }), 'PRECONDITION_FAILED');
  });

  it('takes a JPEG or PNG of up to 5 MiB, for a variety that exists', async () => {
    expectError(await put(Buffer.from('GIF89a')), PhotoErrors.NOT_A_PHOTO);
    expect(await put(Buffer.concat([PNG], 5 * MIB))).toMatchObject({ status: 204 });
    await app.delete(variety);
    expectError(await app.get(path), PhotoErrors.PHOTO_NOT_FOUND);
    expectError(await put(PNG), PhotoErrors.VARIETY_NOT_FOUND);
  });

  it('documents the bodies that it takes, and their errors', async () => {
    const { body } = await app.get('/openapi.json');
    const { paths } = body as { paths: Record<string, { put: { responses: object } }> };
    expect(paths['/varieties/{id}/photo']?.put.responses).toMatchObject({
      400: { description: expect.not.stringContaining('40002') },
      413: { description: '- 41300: The body is larger than the operation takes' },
    });
  });
});

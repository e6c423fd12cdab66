import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { DataSource } from 'typeorm';
import { PlantErrors } from '../../../src/modules/plants/plants.errors.js';
import { addToSchema } from '../../support/store.js';
import { holdTimeouts, passTimeouts, resetClocks, stopClock } from '../../support/clock.js';
import { exchange, openSocket } from '../../support/http/connection.js';
import { expectError } from '../../support/expect-error.js';
import { listServerSockets } from '../../support/server-connections.js';
import { type Answer, LONG_TIMEOUTS, TestApp } from '../../support/test-app.js';
import { TOKEN } from '../../support/token.js';
import { until } from '../../support/until.js';
import { EXAMPLE_MODULES, EXAMPLE_SCHEMA } from '../example.js';
import { Photo } from './photo.entity.js';
import { PhotoErrors } from './photos.errors.js';

addToSchema(EXAMPLE_SCHEMA);

const MIB = 1024 * 1024;
const PATH = '/plants/1/photo';
const HEAD = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const TIMEOUT_MS = Number(LONG_TIMEOUTS.REQUEST_TIMEOUT_MS);
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(40, 1)]);
const LONG = new Uint8Array(5 * MIB + 1);
const JPEG = Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.alloc(40, 2)]);

const app = TestApp.forAll({}, ...EXAMPLE_MODULES);

beforeEach(async () => {
  await app.query('DELETE FROM plants');
  await app.create('{"id":1,"name":"n"}');
});

function put(photo: Uint8Array, type = 'image/png'): Promise<Answer> {
  return app.put(PATH, Uint8Array.from(photo), { 'Content-Type': type });
}

describe('/plants/{id}/photo', () => {
  it('has the photo that was sent last, until it is removed', async () => {
    expectError(await app.get(PATH), PhotoErrors.PHOTO_NOT_FOUND);
    expectError(await app.delete(PATH), PhotoErrors.PHOTO_NOT_FOUND);
    for (const [photo, type] of [
      [PNG, 'image/png'],
      [JPEG, 'image/jpeg'],
    ] as const) {
      expect(await put(photo, type)).toMatchObject({ status: 204, text: '' });
      const got = await fetch(app.url.origin + PATH, { headers: app.authorization });
      expect(Buffer.from(await got.arrayBuffer())).toEqual(photo);
      const head = await app.request('HEAD', PATH, { headers: app.authorization });
      for (const { status, headers } of [got, head]) {
        expect(status).toBe(200);
        expect(headers.get('content-type')).toBe(type);
        expect(headers.get('content-length')).toBe(String(photo.length));
      }
      const etag = got.headers.get('etag') ?? '';
      expect(await app.get(PATH, { 'If-None-Match': etag })).toMatchObject({ status: 304 });
    }
    expect(await app.delete(PATH)).toMatchObject({ status: 204 });
    expectError(await app.get(PATH), PhotoErrors.PHOTO_NOT_FOUND);
  });

  it('takes chunks, and refuses a token, a path, an absence, a type and a length in this order', async () => {
    const head = `PUT ${PATH} ${HEAD}Content-Type: image/png\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const chunks = Array.from(PNG, (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
    expect(await exchange(app.port, `${head}${chunks}0\r\n\r\n`)).toMatchObject([{ status: 204 }]);
    const long = { 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip' };
    expectError(await app.put(PATH, LONG, { ...long, Authorization: '' }), 'TOKEN_MISSING');
    expectError(await app.put('/plants/x/photo', '', long), 'INVALID_PARAMETERS');
    expectError(await app.put(PATH, '', long), 'UNREADABLE_BODY');
    expectError(await app.put(PATH, LONG, long), 'UNSUPPORTED_MEDIA_TYPE');
    expectError(await put(LONG), 'BODY_TOO_LARGE');
    expectError(await app.get(PATH, { 'If-Match': '"other"' }), 'PRECONDITION_FAILED');
  });

  it('takes a JPEG or PNG of up to 5 MiB, for a plant that exists', async () => {
    expectError(await put(Buffer.from('GIF89a')), PhotoErrors.NOT_A_PHOTO);
    expect(await put(Buffer.concat([PNG], 5 * MIB))).toMatchObject({ status: 204 });
    await app.delete('/plants/1');
    expect(await app.nest.get(DataSource).getRepository(Photo).count()).toBe(0);
    expectError(await put(PNG), PlantErrors.PLANT_NOT_FOUND);
  });

  it('documents the bodies that it takes, and their errors', async () => {
    const { body } = await app.get('/openapi.json');
    const { paths } = body as { paths: Record<string, { put: { responses: object } }> };
    expect(paths['/plants/{id}/photo']?.put.responses).toMatchObject({
      400: { description: expect.not.stringContaining('40002') },
      413: { description: '- 41300: The body is larger than the operation takes' },
    });
  });
});

describe('many clients with photos', () => {
  afterEach(() => resetClocks());

  it('get them all, although some begin to read late', async () => {
    const photo = Buffer.concat([PNG], 5 * MIB);
    await put(photo);
    const sockets = listServerSockets(app);
    // However slow this machine is, no download waits too long for its turn.
    stopClock();
    holdTimeouts();
    const clients = Array.from({ length: 30 }, () => openSocket(app.port).pause());
    for (const client of clients) client.write(`GET ${PATH} ${HEAD}Connection: close\r\n\r\n`);
    await until(() => sockets.filter(({ writableLength }) => writableLength > MIB).length >= 12);
    // Without turns, all of them would begin meanwhile.
    for (let count = 0; count < 20; count++) await app.get('/plants/1');
    expect(sockets.filter(({ writableLength }) => writableLength > MIB).length).toBeLessThan(15);
    const answers = await Promise.all(clients.map((client) => buffer(client)));
    for (const answer of answers) expect(answer.subarray(-photo.length).equals(photo)).toBe(true);
  });

  it('may send them slowly, but not stay silent, and keep nobody out', async () => {
    const sockets = listServerSockets(app);
    holdTimeouts();
    const clients = Array.from({ length: 8 }, () => openSocket(app.port));
    let sent = 0;
    const send = async (bytes: string): Promise<void> => {
      for (const client of clients) client.write(bytes, 'latin1');
      sent += bytes.length;
      await until(() => sockets.every(({ bytesRead }) => bytesRead === sent));
      passTimeouts(0.9 * TIMEOUT_MS);
    };
    await send(`PUT ${PATH} ${HEAD}Content-Type: image/png\r\nContent-Length: 48\r\n\r\n`);
    await send(PNG.toString('latin1', 0, 20));
    expect(await put(JPEG, 'image/jpeg')).toMatchObject({ status: 204 });
    await send(PNG.toString('latin1', 20, 40));
    const [first, ...silent] = clients;
    first?.write(PNG.subarray(40));
    const readStatus = async (client: Socket | undefined): Promise<string> =>
      String(await once(client ?? new Socket(), 'data')).slice(0, 12);
    expect(await readStatus(first)).toBe('HTTP/1.1 204');
    passTimeouts(0.1 * TIMEOUT_MS);
    for (const client of silent) expect(await readStatus(client)).toBe('HTTP/1.1 408');
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import {
  type Answer,
  holdTimeouts,
  passTimeouts,
  resetClocks,
  stopClock,
  TOKEN,
  until,
} from 'durable-rest/testing';
import { NurseryApp } from '../../examples/nursery/test/nursery-app.js';
import { exchange, openSocket } from '../support/http/connection.js';
import { countHeld, isHandlerAwaited, takeHandlerTurns } from '../support/limits.js';
import { listServerSockets } from '../support/server-connections.js';
import { MAX_WAIT_TIMEOUT_MS } from '../../packages/platform/src/config/time-limits.js';
import { LONG_TIMEOUTS } from '../../packages/platform/src/testing/test-application.js';

const MIB = 1024 * 1024;
const HEAD = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const TIMEOUT_MS = Number(LONG_TIMEOUTS.REQUEST_TIMEOUT_MS);
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(40, 1)]);
const JPEG = Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.alloc(40, 2)]);

// On a busy machine a server may need long for the statement that reads a photo.
const app = NurseryApp.forAll({ STORE_TIMEOUT_MS: String(MAX_WAIT_TIMEOUT_MS) });
let path: string;

beforeEach(async () => {
  path = `/varieties/${await app.createVariety('Monstera')}/photo`;
});

function put(photo: Uint8Array, type = 'image/png'): Promise<Answer> {
  return app.put(path, Uint8Array.from(photo), { 'Content-Type': type });
}

it('a body of bytes may come in chunks', async () => {
  const head = `PUT ${path} ${HEAD}Content-Type: image/png\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const chunks = Array.from(PNG, (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
  expect(await exchange(app.port, `${head}${chunks}0\r\n\r\n`)).toMatchObject([{ status: 204 }]);
});

it('a body of bytes is held in memory while its request waits for a turn', async () => {
  const giveBack = takeHandlerTurns(app);
  const photo = Buffer.concat([PNG], MIB);
  const answer = put(photo);
  await until(() => isHandlerAwaited(app));
  const held = countHeld(app);
  giveBack();
  expect(held).toBeGreaterThan(photo.length);
  expect(await answer).toMatchObject({ status: 204 });
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
    for (const client of clients) client.write(`GET ${path} ${HEAD}Connection: close\r\n\r\n`);
    await until(() => sockets.filter(({ writableLength }) => writableLength > MIB).length >= 12);
    // Without turns, all of them would begin meanwhile.
    for (let count = 0; count < 20; count++) await app.get('/varieties');
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
    await send(`PUT ${path} ${HEAD}Content-Type: image/png\r\nContent-Length: 48\r\n\r\n`);
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

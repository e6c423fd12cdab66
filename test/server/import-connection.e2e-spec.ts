import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  holdTimeouts,
  passSeconds,
  passTimeouts,
  resetClocks,
  stopClock,
  TOKEN,
  until,
} from 'durable-rest/testing';
import { getLimits } from '../support/limits.js';
import { openSocket } from '../support/http/connection.js';
import { LIVE } from '../support/plant-requests.js';
import { TestApp } from '../support/fixture-app.js';

const HEAD = `POST /plants/import HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`;
const END = '0\r\n\r\n';

let app: TestApp;
let client: Socket;
/** The server's end of the connection. */
let socket: Socket;
let received: string;

/**
 * @param timeoutMs how long the server waits for the client
 * @param graceMs how long idle connections are kept at a stop: those of the tests need no time
 */
async function start(timeoutMs = 30_000, graceMs = 0): Promise<void> {
  app = await TestApp.start({
    REQUEST_TIMEOUT_MS: String(timeoutMs),
    SHUTDOWN_GRACE_MS: String(graceMs),
  });
  const accepted = once(app.nest.getHttpServer(), 'connection') as Promise<[Socket]>;
  client = openSocket(app.port);
  received = '';
  client.setEncoding('utf8').on('data', (text: string) => (received += text));
  client.write(HEAD);
  [socket] = await accepted;
}

/** Starts an import, and resolves once the server waits for its lines, until time is passed. */
async function startWaiting(timeoutMs: number): Promise<void> {
  holdTimeouts();
  await start(timeoutMs);
  await until(() => socket.bytesRead >= HEAD.length && jest.getTimerCount() > 0);
}

afterEach(async () => {
  jest.restoreAllMocks();
  resetClocks();
  client.destroy();
  await app.close();
});

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function line(id: number, name = 'n'): string {
  return `{"id":${id},"name":"${name}"}\n`;
}

async function isStored(id: number): Promise<boolean> {
  return (await app.get(`/plants/${id}`)).status === 200;
}

describe('the client of an import', () => {
  it('is not waited for longer than it may send nothing, and loses its connection', async () => {
    await startWaiting(10_000);
    client.write(chunk(line(1)));
    await until(() => isStored(1));
    // After this time, the rest of the import is read and dropped for some more.
    await until(() => {
      passTimeouts(10_000);
      return client.readableEnded;
    });
    expect(received).toMatch(/^HTTP\/1\.1 408 [^]*\r\nConnection: close\r\n[^]*"error":40800/);
  });

  it('keeps its connection if all has been sent when the time is over', async () => {
    await startWaiting(10_000);
    client.write(END);
    passTimeouts(10_000);
    await until(() => received.endsWith('}'));
    expect(received).toMatch(/^HTTP\/1\.1 408 [^]*\r\nConnection: keep-alive\r\n/);
    received = '';
    client.write(LIVE);
    await until(() => received.startsWith('HTTP/1.1 200'));
  });

  it('may send for longer than that', async () => {
    await startWaiting(10_000);
    for (const piece of [' ', ' ', line(1)]) {
      const before = socket.bytesRead;
      await until(() => jest.getTimerCount() > 0);
      // It takes no turn from other requests meanwhile.
      expect(getLimits(app).turns.handlers.isIdle).toBe(true);
      passTimeouts(9_000);
      client.write(chunk(piece));
      await until(() => socket.bytesRead > before);
      for (let turn = 0; turn < 20; turn++) await nextTurn();
    }
    client.write(END);
    await until(() => received.includes('"created":1'));
  });

  it('gets 503 when the server stops, before the end of its grace time', async () => {
    await start(30_000, 60_000);
    client.write(chunk(line(1)));
    await until(() => isStored(1));
    stopClock();
    const stopped = app.nest.close();
    await until(() => received.endsWith('}'));
    expect(received).toMatch(/^HTTP\/1\.1 503 [^]*\r\nRetry-After: 1\r\n[^]*"error":50300/);
    client.destroy();
    passSeconds(61);
    await stopped;
  });

  it('may disconnect: complete lines are stored, and half a line is not', async () => {
    await start();
    client.write(chunk(line(1)) + chunk(line(2).slice(0, -1)));
    await until(() => isStored(1));
    client.resetAndDestroy();
    await new Promise((resolve) => socket.once('close', resolve));
    // If half a line were stored, it would be by now.
    await app.create('{"id":3,"name":"n"}');
    expect(await isStored(2)).toBe(false);
  });

  it('gets 400 for chunks that are malformed, and the lines before them stay', async () => {
    await start();
    client.write(chunk(line(1)));
    await until(() => isStored(1));
    client.write('no chunk\r\n');
    await once(client, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 400 [^]*"error":40000/);
  });
});

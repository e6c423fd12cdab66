import { expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TOKEN, until } from 'durable-rest/testing';
import { ClientConnection, openSocket } from '../support/http/connection.js';
import { listServerSockets } from '../support/server-connections.js';
import { TestApp } from '../support/fixture-app.js';

const app = TestApp.forAll();

function head(line: string, type: string, token = TOKEN): string {
  return `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
}

/** Splits a text into chunks of one length. */
function split(text: string, length: number): string[] {
  const pieces = text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
  return pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
}

const END = '0\r\n\r\n';
const NAME = 'n'.repeat(20_000);

it('a body that has ended keeps no turn from the next one of its client', async () => {
  for (const id of [2, 3, 4]) {
    const client = new ClientConnection(app.port);
    const plant = split(`{"id":${id},"name":"${NAME}"}`, 1).join('') + END;
    await client.write(head('POST /plants', 'application/json') + plant);
    expect(await client.next()).toMatchObject({ status: 200 });
    client.socket.destroy();
  }
});

it('a plant may come in chunks of one byte', async () => {
  const client = new ClientConnection(app.port);
  const chunks = split(`{"id":1,"name":"${NAME}"}`, 1);
  await client.write(head('POST /plants', 'application/json') + chunks.join('') + END);
  expect(await client.next()).toMatchObject({ status: 200, body: `{"name":"${NAME}"}` });
  client.socket.destroy();
});

it.each([
  ['ends its connection', 1, 'close'],
  ['keeps it if they are few', 400, 'keep-alive'],
])('an answer to small chunks %s', async (_, length, connection) => {
  const client = new ClientConnection(app.port);
  const chunks = split(`{"id":${10 + length},"name":"${NAME}"}`, length);
  await client.write(head('POST /plants', 'application/json') + chunks.join('') + END);
  expect(await client.next()).toMatchObject({ status: 200, headers: { connection } });
  client.socket.destroy();
});

/** How many bytes the server reads of a connection at once. */
const READ_SIZE = 65_536;
/** How many connections send small chunks without end. */
const ATTACKERS = 10;

it.each([
  ['which are unread', head('GET /openapi.json', 'text/plain')],
  ['which are refused', head('POST /plants', 'application/json', 'wrong')],
  ['of imports', head('POST /plants/import', 'application/x-ndjson')],
  ['of plants', head('PUT /plants/1', 'application/json')],
])('one of many bodies of small chunks is read at a time: those %s', async (_, request) => {
  const sockets = listServerSockets(app);
  const chunks = '1\r\n \r\n'.repeat(40_000);
  const attackers = Array.from({ length: ATTACKERS }, () => openSocket(app.port));
  for (const socket of attackers) socket.write(request + '1\r\n \r\n'.repeat(100));
  await until(() => sockets.length === ATTACKERS);
  await until(() => sockets.every(({ bytesRead }) => bytesRead > request.length));
  for (const socket of attackers) socket.write(chunks);
  // Each may have had its turn while it had nothing to send.
  await until(() => sockets.every((one) => one.destroyed || one.bytesRead > READ_SIZE));
  const readAtOnce: number[] = [];
  let before = sockets.map(({ bytesRead }) => bytesRead);
  for (let turn = 0; turn < 200; turn++) {
    await nextTurn();
    const now = sockets.map(({ bytesRead }) => bytesRead);
    readAtOnce.push(now.filter((bytes, index) => bytes > (before[index] ?? 0)).length);
    before = now;
  }
  expect(Math.max(...readAtOnce)).toBeLessThanOrEqual(2);
  expect(await app.get('/health/live')).toMatchObject({ status: 200 });
  for (const socket of attackers) socket.destroy();
});

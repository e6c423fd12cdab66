import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { listAnswers, ClientConnection, exchange } from '../../support/http/connection.js';
import { writeCreateRequest } from '../../support/plant-requests.js';
import { Program } from '../../support/program.js';
import { LONG_TIMEOUTS } from '../../support/test-app.js';
import { TOKEN } from '../../support/token.js';

const CONNECTIONS = 10_000;
/** Connections that are opened at a time: the system queues only some thousands. */
const AT_A_TIME = 500;

let program: Program;
let port: number;
const idle: Socket[] = [];

beforeEach(async () => {
  const env = { ACCESS_TOKENS: TOKEN, DATABASE_URL: 'sqlite::memory:', ...LONG_TIMEOUTS };
  program = Program.start('.', env);
  port = Number(new URL(await program.listening()).port);
});

afterEach(async () => {
  for (const socket of idle) socket.destroy();
  program.kill('SIGTERM');
  await program.exited();
});

async function open(): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  return socket;
}

it(`${CONNECTIONS} idle connections cost little memory, and one more is refused`, async () => {
  const before = await program.residentMemory();
  const client = new ClientConnection(port);
  await client.opened;
  while (idle.length < CONNECTIONS - 1) {
    const missing = CONNECTIONS - 1 - idle.length;
    idle.push(...(await Promise.all(Array.from({ length: Math.min(AT_A_TIME, missing) }, open))));
  }
  for (let round = 0; round < 20; round++) {
    await client.write(writeCreateRequest(TOKEN));
    expect(await client.next()).toMatchObject({ status: 200 });
  }

  expect((await program.residentMemory()) - before).toBeLessThan(200);

  const refused = await exchange(port, writeCreateRequest(TOKEN));
  expect(listAnswers(refused)).toMatchObject([{ status: 503, headers: { connection: 'close' } }]);
  await client.write(writeCreateRequest(TOKEN));
  expect(await client.next()).toMatchObject({ status: 200 });
  client.reset();
});

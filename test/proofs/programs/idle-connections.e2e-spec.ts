import { expect, it } from '@jest/globals';
import { ClientConnection, exchange, listAnswers } from '../../support/http/connection.js';
import { writeCreateRequest } from '../../support/plant-requests.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { LONG_TIMEOUTS } from '../../support/test-app.js';
import { TOKEN } from '../../support/token.js';

const CONNECTIONS = 10_000;
/** Connections that are opened at a time: the system queues only some thousands. */
const AT_A_TIME = 500;
const MAX_MEMORY_MIB = 200;

it(`${CONNECTIONS} idle connections cost little memory, and one more is refused`, async () => {
  const folder = await ProgramFolder.create();
  const program = folder.serve({ DATABASE_URL: 'sqlite::memory:', ...LONG_TIMEOUTS });
  const port = Number(new URL(await program.listening()).port);
  const before = await program.residentMemory();
  const client = new ClientConnection(port);
  await client.opened;
  const idle: ClientConnection[] = [];
  while (idle.length < CONNECTIONS - 1) {
    const count = Math.min(AT_A_TIME, CONNECTIONS - 1 - idle.length);
    const opened = Array.from({ length: count }, () => new ClientConnection(port));
    await Promise.all(opened.map((one) => one.opened));
    idle.push(...opened);
  }
  await client.write(writeCreateRequest(TOKEN));
  expect(await client.next()).toMatchObject({ status: 200 });
  expect((await program.residentMemory()) - before).toBeLessThan(MAX_MEMORY_MIB);

  const refused = await exchange(port, writeCreateRequest(TOKEN));
  expect(listAnswers(refused)).toMatchObject([{ status: 503, headers: { connection: 'close' } }]);
  await client.write(writeCreateRequest(TOKEN));
  expect(await client.next()).toMatchObject({ status: 200 });
  for (const one of [client, ...idle]) one.reset();
  await folder.remove();
});

import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { openSocket } from '../../support/http/connection.js';
import { ProgramFolder } from '../../support/program.js';
import { LONG_TIMEOUTS } from '../../../packages/platform/src/testing/test-application.js';

const CONNECTIONS = 10_000;
/** Connections that are opened at a time: the system queues only some thousands. */
const AT_A_TIME = 500;
const MAX_MEMORY_MIB = 200;

it(`${CONNECTIONS} idle connections cost little memory`, async () => {
  const folder = await ProgramFolder.create();
  const program = folder.serve({ DATABASE_URL: 'sqlite::memory:', ...LONG_TIMEOUTS });
  const port = Number(new URL(await program.listening()).port);
  const before = await program.residentMemory();
  const idle: Socket[] = [];
  while (idle.length < CONNECTIONS) {
    const opened = Array.from({ length: AT_A_TIME }, () => openSocket(port));
    await Promise.all(opened.map((one) => once(one, 'connect')));
    idle.push(...opened);
  }
  expect((await program.residentMemory()) - before).toBeLessThan(MAX_MEMORY_MIB);
  for (const one of idle) one.resetAndDestroy();
  await folder.remove();
});

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClientConnection } from '../../support/http/connection.js';
import { writeCreateRequest } from '../../support/plant-requests.js';
import { Program } from '../../support/program.js';
import { KeepAliveLoad } from './keep-alive-load.js';

const ACCESS_TOKENS = 'correct-horse-battery-staple';
const CLIENTS = 64;
/** The latest moment of the signal, in milliseconds after the load began. */
const LONGEST_LOAD = 500;

export interface Stop {
  readonly answers: number;
  readonly faults: readonly string[];
  readonly ms: number;
}

/**
 * Starts the built program, loads it with keep-alive clients and stops it at a random moment.
 *
 * @param idle how many further clients keep an idle connection
 */
export async function stopUnderLoad(folder: string, idle: number): Promise<Stop> {
  const program = Program.start(folder, {
    ACCESS_TOKENS,
    SHUTDOWN_GRACE_MS: '',
    DATABASE_URL: `sqlite:${randomUUID()}.db`,
  });
  const port = Number(new URL(await program.listening()).port);
  const load = new KeepAliveLoad(port, CLIENTS, () => writeCreateRequest(ACCESS_TOKENS));
  const keepers = Array.from({ length: idle }, () => new ClientConnection(port));
  for (const keeper of keepers) {
    await keeper.write(writeCreateRequest(ACCESS_TOKENS));
    await keeper.next();
  }
  await sleep(Math.random() * LONGEST_LOAD);

  const began = performance.now();
  program.kill('SIGTERM');
  const exitCode = await program.exited();
  const ms = Math.round(performance.now() - began);
  await load.ended();
  const faults = [...load.faults];
  // A stop that takes too long is forced, and has no exit code.
  if (exitCode !== 0) faults.push(`the program ended with exit code ${String(exitCode)}`);
  return { answers: load.answers, faults, ms };
}

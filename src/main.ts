import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { createApp } from './app.js';
import { AccessTokens } from './platform/auth/access-tokens.js';
import { JwtTokens } from './platform/auth/jwt-tokens.js';
import { describeSettings, loadEnvFile } from './platform/config/env-file.js';
import { Env, EnvError } from './platform/config/env.js';
import {
  DatabaseStartError,
  type StoreDataSource,
} from './platform/database/data-source/store-data-source.js';
import { getMaxDrainMs } from './platform/server/connections.js';
import { PinoLogger } from './platform/observability/pino-logger.js';

/** Repeats of a signal within this time, in milliseconds, are the same Ctrl-C. */
const SAME_SIGNAL_MS = 1_000;

/** How long the rest of a stop may take once all connections are closed, in milliseconds. */
const CLOSE_TIMEOUT_MS = 250;

/** What is left of a stop after a second signal, in milliseconds. */
const HURRIED_STOP_MS = 500;

/** How long a forced stop waits for the log, in milliseconds. */
const LOG_FLUSH_MS = 250;

/** How long what else runs in the process, such as an export of traces, may outlast a stop, in milliseconds. */
const EXIT_DELAY_MS = 250;

/**
 * Connections that the system holds until they are accepted. One beyond them gets
 * no refusal, but tries again for seconds.
 */
const BACKLOG = 4_096;

/** The addresses that stand for all of a machine, and those to connect to in their place. */
const ANY_ADDRESS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const logger = new Logger('Main');

await start();

async function start(): Promise<void> {
  let app: NestExpressApplication | undefined;
  try {
    // Process 1 of a container ignores what it does not handle. Nothing has been accepted yet.
    for (const signal of SIGNALS) process.once(signal, quit);
    if (process.argv.length > 2) throw new EnvError('The program takes no arguments');
    const fromFile = loadEnvFile();
    app = await createApp();
    const env = app.get(Env);
    await app.init();
    // Nest's own listen() would print a failure a second time.
    const address = { port: env.PORT, host: env.HOST, backlog: BACKLOG };
    await once(app.getHttpServer().listen(address), 'listening');
    stopOnSignals(app);
    const reach = env.HOST in ANY_ADDRESS ? ', and at all other addresses of this machine' : '';
    logger.log(`Listening on ${addressOf(app)}, Swagger UI at ${addressOf(app)}/docs${reach}`);
    logger.log(`Accepting ${describeTokens(app)}`);
    logger.log(`Storing in ${app.get<StoreDataSource>(DataSource).description}`);
    logger.log(`Settings: ${describeSettings(fromFile)}`);
    await app.get(PinoLogger).flush();
    printDevelopmentToken(app);
  } catch (error) {
    process.exitCode = 1;
    await app?.close();
    process.stderr.write(`${describeError(error)}\n`);
  }
}

/** Describes which kinds of tokens are accepted, without a value of any. */
function describeTokens(app: NestExpressApplication): string {
  const { count, developmentToken } = app.get(AccessTokens);
  const madeForThisRun = developmentToken === undefined ? '' : ', made for this run';
  const kinds = [
    ...(count > 0 ? [`static tokens (${count}${madeForThisRun})`] : []),
    ...(app.get<JwtTokens | null>(JwtTokens) === null ? [] : ['JWTs of the identity provider']),
  ];
  return kinds.join(' and ');
}

/** Without a configured token, a newcomer needs the one made for this run. */
function printDevelopmentToken(app: NestExpressApplication): void {
  const token = app.get(AccessTokens).developmentToken;
  if (token === undefined) return;
  // A reader that has gone loses what is printed, and is no reason to stop.
  process.stderr.on('error', () => undefined);
  const plant = JSON.stringify({ id: Date.now(), name: 'Monstera', tag: 'indoor' });
  process.stderr.write(`
No ACCESS_TOKENS are set: this run takes the token in this command, which creates a plant.

curl -X POST ${addressOf(app)}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${plant}' -w '\\n'

`);
}

/** Where the program can be reached from this machine. */
function addressOf(app: NestExpressApplication): string {
  const address = app.getHttpServer().address();
  if (address === null || typeof address === 'string') return String(address);
  const ip = ANY_ADDRESS[address.address] ?? address.address;
  return `http://${address.family === 'IPv6' ? `[${ip}]` : ip}:${address.port}`;
}

function quit(): void {
  process.exit();
}

function stopOnSignals(app: NestExpressApplication): void {
  let stoppedAt: number | undefined;
  const stop = (reason: string): void => {
    if (stoppedAt !== undefined) return;
    stoppedAt = performance.now();
    logger.log(`${reason}: answering what has arrived, then stopping`);
    const drain = getMaxDrainMs(app.get(Env).SHUTDOWN_GRACE_MS);
    const forcing = setTimeout(() => void forceExit(app), drain + CLOSE_TIMEOUT_MS);
    void close(app).then(() => clearTimeout(forcing));
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stoppedAt === undefined) stop(signal);
    else if (performance.now() - stoppedAt > SAME_SIGNAL_MS) hurry(app);
  };
  for (const signal of SIGNALS) process.off(signal, quit).on(signal, onSignal);
  // Promises that were rejected and never looked at come here too.
  process.on('uncaughtException', (error) => {
    logger.fatal(error);
    process.exitCode = 1;
    stop('Uncaught error');
  });
}

async function close(app: NestExpressApplication): Promise<void> {
  const pino = app.get(PinoLogger);
  try {
    await app.close();
    logger.log('Stopped');
  } catch (error) {
    logger.error(error);
    process.exitCode = 1;
  }
  if (!(await pino.flush())) await forceExit(app);
  setTimeout(() => process.exit(), EXIT_DELAY_MS).unref();
}

/** Lets the stop that is under way wait for no client any longer, and for the store only briefly. */
function hurry(app: NestExpressApplication): void {
  process.exitCode = 1;
  app.getHttpServer().closeAllConnections();
  setTimeout(() => void forceExit(app), HURRIED_STOP_MS);
}

/**
 * Ends the process though one of its threads hangs, as in a flush to a failing disk. Node's own exit
 * waits for every thread.
 */
async function forceExit(app: NestExpressApplication): Promise<void> {
  logger.error('The stop is forced: the store or a client has kept it too long');
  await Promise.race([app.get(PinoLogger).flush(), sleep(LOG_FLUSH_MS)]);
  process.kill(process.pid, 'SIGKILL');
  // The system does not let process 1 send itself SIGKILL.
  process.abort();
}

/** What Node says of an address that it cannot listen on. */
interface ListenError {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

/** One line for each thing that the operator has to fix. */
function describeError(error: unknown): string {
  if (error instanceof EnvError || error instanceof DatabaseStartError) return error.message;
  const { syscall, code, message, ...listen } = error as NodeJS.ErrnoException & ListenError;
  const { address, port, hostname = address } = listen;
  switch (`${syscall} ${code}`) {
    case 'listen EADDRINUSE':
      return `Port ${port} of ${address} is in use by another program: set PORT to a free one, or to 0`;
    case 'listen EADDRNOTAVAIL':
    case 'getaddrinfo ENOTFOUND':
    case 'getaddrinfo EAI_AGAIN':
      return `HOST is not an address of this machine: ${hostname}`;
    case 'listen EACCES':
      return `Port ${port} may not be opened by this user: set PORT to 1024 or more`;
    default:
      return `The service cannot start: ${message}`;
  }
}

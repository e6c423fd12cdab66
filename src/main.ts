import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { DataSource } from 'typeorm';
import { createApp } from './app.js';
import { AccessTokens } from './platform/auth/access-tokens.js';
import { loadEnvFile } from './platform/config/env-file.js';
import { Env, EnvError } from './platform/config/env.js';
import { VERSION } from './platform/config/version.js';
import {
  DatabaseStartError,
  type StoreDataSource,
} from './platform/database/data-source/store-data-source.js';
import { PinoLogger } from './platform/observability/pino-logger.js';
import { BACKLOG } from './platform/server/connections.js';
import { exitOnSignals, shutDownOnSignals } from './shutdown.js';

/** The addresses that listen on all interfaces, and for each an address to connect to. */
const ANY_ADDRESS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

const logger = new Logger('Main');

// By default V8 lets old objects take up to four times the memory of those in use before it removes
// them, which is 200 MiB in a flood of requests. Removing them sooner takes no measurable time.
setFlagsFromString('--heap-growing-percent=50');

await start();

async function start(): Promise<void> {
  let app: NestExpressApplication | undefined;
  try {
    exitOnSignals();
    if (process.argv.length > 2) throw new EnvError('The program takes no arguments');
    const envFile = loadEnvFile();
    app = await createApp();
    const env = app.get(Env);
    await app.init();
    // Nest's own listen() would also print a failure.
    const address = { port: env.PORT, host: env.HOST, backlog: BACKLOG };
    await once(app.getHttpServer().listen(address), 'listening');
    shutDownOnSignals(app);
    const reach = env.HOST in ANY_ADDRESS ? ', and at all other addresses of this machine' : '';
    logger.log(`Plant Store ${VERSION} on Node ${process.versions.node}`);
    logger.log(`Listening on ${getUrl(app)}, Swagger UI at ${getUrl(app)}/docs${reach}`);
    logger.log(`Accepting ${describeTokens(app)}`);
    logger.log(`Storing in ${app.get<StoreDataSource>(DataSource).description}`);
    const alsoFrom = envFile === undefined ? '' : `, and from ${envFile}`;
    logger.log(`Settings from the environment${alsoFrom}`);
    await app.get(PinoLogger).flush();
    printDevelopmentToken(app);
  } catch (error) {
    process.exitCode = 1;
    // Before closing, which may hang.
    process.stderr.write(`${describeError(error)}\n`);
    await app?.close();
  }
}

/** Lists the kinds of accepted tokens, without their values. */
function describeTokens(app: NestExpressApplication): string {
  const { count, developmentToken } = app.get(AccessTokens);
  const madeForThisRun = developmentToken === undefined ? '' : ', made for this run';
  const kinds = [
    ...(count > 0 ? [`static tokens (${count}${madeForThisRun})`] : []),
    ...(app.get(Env).AUTH_JWKS_URL === undefined ? [] : ['JWTs of the identity provider']),
  ];
  return kinds.join(' and ');
}

/** Prints a command with the development token, which a newcomer needs. */
function printDevelopmentToken(app: NestExpressApplication): void {
  const token = app.get(AccessTokens).developmentToken;
  if (token === undefined) return;
  // A closed standard error must not stop the program.
  process.stderr.on('error', () => undefined);
  const plant = JSON.stringify({ id: Date.now(), name: 'Monstera', tag: 'indoor' });
  process.stderr.write(`
No ACCESS_TOKENS are set: this run takes the token in this command, which creates a plant.

curl -X POST ${getUrl(app)}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${plant}' -w '\\n'

`);
}

/** Builds the URL at which this machine reaches the program. */
function getUrl(app: NestExpressApplication): string {
  const address = app.getHttpServer().address();
  if (address === null || typeof address === 'string') return String(address);
  const ip = ANY_ADDRESS[address.address] ?? address.address;
  return `http://${address.family === 'IPv6' ? `[${ip}]` : ip}:${address.port}`;
}

/** An error of Node, perhaps with the address that it could not listen on. */
interface ListenError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

/** Writes one line for each thing that the operator has to fix. */
function describeError(error: unknown): string {
  if (error instanceof EnvError || error instanceof DatabaseStartError) return error.message;
  const { syscall, code, message, address, port, hostname = address } = error as ListenError;
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

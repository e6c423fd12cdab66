import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { DataSource } from 'typeorm';
import { describeWaysIn, keepDevelopmentToken } from './development.js';
import { AccessTokens } from '../auth/access-tokens.js';
import { loadEnvFile } from '../config/env-file.js';
import { Env, EnvError, loadEnv } from '../config/env.js';
import { readOpenFilesLimit } from '../config/requirements.js';
import type { Service } from '../config/service.js';
import { describeSettings } from '../config/setting.decorators.js';
import type { StoreDataSource } from 'durable-store';
import { PinoLogger } from '../observability/pino-logger.js';
import { printFailure } from '../observability/print-failure.js';
import { BACKLOG, Connections } from '../server/connections.js';
import { handleEarlyExits, shutDownOnSignals } from './shutdown.js';

/** The addresses that listen on all interfaces, and for each an address to connect to. */
const ANY_ADDRESS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** How V8 handles objects that live as long as a request, or as a row that waits for its flush. */
export const V8_FLAGS = [
  // By default V8 lets old objects take up to four times the memory of the objects in use before it
  // removes them, which is 200 MiB in a flood of requests. Removing them sooner takes no measurable
  // time.
  '--heap-growing-percent=50',
  // Most rows of a batch wait longer than the first collections. So V8 would take all such objects
  // for long-lived ones. Only full collections remove such objects, with all that they refer to: an
  // import took 1.3 times as much processor time.
  '--no-allocation-site-pretenuring',
];

const logger = new Logger('Main');

/**
 * Runs a service until a signal stops it. A start that fails prints one line for each thing to fix,
 * and sets exit code 1.
 *
 * @example
 * ```ts
 * await runProgram(service, () => createApplication(AppModule.create([])));
 * ```
 */
export async function runProgram(
  service: Service,
  createApp: () => Promise<NestExpressApplication>,
): Promise<void> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  let app: NestExpressApplication | undefined;
  try {
    const [argument] = process.argv.slice(2);
    if (argument === '--help') {
      printHelp(service);
      return;
    }
    handleEarlyExits();
    if (argument !== undefined) throw new EnvError('The program takes no arguments but --help');
    const envFile = loadEnvFile();
    keepDevelopmentToken(loadEnv());
    app = await createApp();
    const env = app.get(Env);
    await app.init();
    // Nest's own listen() would also print a failure.
    const address = { port: env.PORT, host: env.HOST, backlog: BACKLOG };
    await once(app.getHttpServer().listen(address), 'listening');
    shutDownOnSignals(app);
    await announce(app, service, envFile);
  } catch (error) {
    // Before closing, which may hang.
    printFailure('The service cannot start', error);
    await app?.close();
    // If a package cannot be loaded, Node rejects a second promise, of which it would print a stack.
    process.exit();
  }
}

/** Prints every setting with its default, as a `.env` file. */
function printHelp(service: Service): void {
  process.stdout.write(`# ${service.title} ${service.version}: node dist/main.js
#
# Settings are variables of the environment, or lines of the file .env in the current folder.
# An empty value means the default. .env.example explains each of them.

${describeSettings()}`);
}

/** Says how to reach the program: in its log, or for a person at a terminal as plain text. */
async function announce(
  app: NestExpressApplication,
  service: Service,
  envFile: string | undefined,
): Promise<void> {
  const env = app.get(Env);
  const pino = app.get(PinoLogger);
  const store = app.get<StoreDataSource>(DataSource);
  const { developmentToken } = app.get(AccessTokens);
  const tokens = describeTokens(app);
  const url = getUrl(app);
  const hasDocs = env.SWAGGER_UI === 'on';
  const docs = hasDocs ? `, Swagger UI at ${url}/docs` : '';
  const reach = env.HOST in ANY_ADDRESS ? ', and at all other addresses of this machine' : '';
  const alsoFrom = envFile === undefined ? '' : `, and from ${envFile}`;
  if (store.isNew && env.NODE_ENV === 'production') {
    // The folder of the store may not be mounted.
    logger.warn(`There was no store: created a new, empty one, ${store.location}`);
  } else if (store.isNew) {
    logger.log(`Created the store ${store.location}`);
  }
  const { maxOpenFiles } = app.get(Connections);
  const allowedFiles = readOpenFilesLimit();
  if (allowedFiles < maxOpenFiles) {
    logger.warn(
      `The system allows ${allowedFiles} open files, and MAX_CONNECTIONS=${env.MAX_CONNECTIONS} needs ${maxOpenFiles}`,
    );
  }
  logger.log(`${service.title} ${service.version} on Node ${process.versions.node}`);
  const lines = [
    `Listening on ${url}${docs}${reach}`,
    `Accepting ${tokens}`,
    `Storing in ${store.description}`,
    `Settings from the environment${alsoFrom}`,
  ];
  for (const line of lines) {
    if (pino.isForPeople) logger.debug(line);
    else logger.log(line);
  }
  await pino.flush();
  if (!pino.isForPeople && developmentToken === undefined) return;
  // A closed standard error must not stop the program.
  process.stderr.on('error', () => undefined);
  process.stderr.write(
    describeWaysIn({ url, hasDocs, tokens, developmentToken, store: store.location, service }),
  );
}

/** Lists the kinds of accepted tokens, without their values. */
function describeTokens(app: NestExpressApplication): string {
  const { count, developmentToken } = app.get(AccessTokens);
  const forDevelopment = developmentToken === undefined ? '' : ', for development';
  const kinds = [
    ...(count > 0 ? [`static tokens (${count}${forDevelopment})`] : []),
    ...(app.get(Env).AUTH_JWKS_URL === undefined ? [] : ['JWTs of the identity provider']),
  ];
  return kinds.join(' and ');
}

/** Builds the URL at which this machine reaches the program. */
function getUrl(app: NestExpressApplication): string {
  const address = app.getHttpServer().address();
  if (address === null || typeof address === 'string') return String(address);
  const ip = ANY_ADDRESS[address.address] ?? address.address;
  return `http://${address.family === 'IPv6' ? `[${ip}]` : ip}:${address.port}`;
}

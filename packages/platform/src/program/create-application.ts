import {
  type INestApplication,
  Logger,
  type NestApplicationOptions,
  type PipeTransform,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestApplication, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Env } from '../config/env.js';
import { RequestMetrics } from '../observability/metrics.js';
import { PinoLogger } from '../observability/pino-logger.js';
import { DocsModule } from '../openapi/docs.module.js';
import { checkGlobalPipe } from '../requests/own-pipes.js';
import { Connections } from '../server/connections.js';
import { createExpress, FastExpressAdapter } from '../server/fast-express-adapter.js';
import { prepareNest } from '../server/nest-pipeline.js';
import { PREFIX_KEY } from '../server/path-prefix.js';
import { requestMiddleware } from '../server/request.middleware.js';
import { noteServedFolders } from '../server/static-files.js';

/**
 * Lets pages of other origins call the service, read its headers, and send their own request ids and
 * the headers of tracing (W3C Trace Context and Baggage).
 */
const CORS = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowedHeaders: [
    ...['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', 'X-Request-Id'],
    ...['traceparent', 'tracestate', 'baggage'],
  ],
  exposedHeaders: [
    ...['Accept-Patch', 'ETag', 'Link', 'Location', 'RateLimit', 'RateLimit-Policy'],
    ...['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
  ],
  maxAge: 600,
  // OPTIONS is answered as without CORS: 204 with Allow, or an error.
  preflightContinue: true,
};

/** The module of an application. */
type Root = Parameters<typeof NestFactory.create>[0];

/** What `Test.createTestingModule()` of @nestjs/testing has compiled. */
interface TestingModule {
  createNestApplication(
    adapter: AbstractHttpAdapter,
    options: NestApplicationOptions,
  ): INestApplication;
}

const OPTIONS: NestApplicationOptions = {
  // A start that fails throws its error: Nest must neither print it nor exit.
  abortOnError: false,
  bufferLogs: true,
  autoFlushLogs: false,
  bodyParser: false,
  // Opening the store may wait for another program, and must say so while it waits.
  instrument: { instanceDecorator: useLogger },
};

/**
 * Creates the application of a module that imports the platform, configured by the environment. In
 * a test, this may be the compiled module of `Test.createTestingModule()`.
 *
 * @throws EnvError when a setting is wrong, with a line for each
 * @throws DatabaseStartError when the store cannot be used
 * @example
 * ```ts
 * const app = await createApplication(AppModule.create([]));
 * await app.init();
 * ```
 */
export async function createApplication(
  root: Root | TestingModule,
): Promise<NestExpressApplication> {
  prepareNest();
  noteServedFolders();
  const adapter = new FastExpressAdapter(createExpress());
  const app =
    'createNestApplication' in root
      ? (root.createNestApplication(adapter, OPTIONS) as NestExpressApplication)
      : await NestFactory.create<NestExpressApplication>(root, adapter, OPTIONS);
  replaceMethod(app, 'connectMicroservice', refuseMicroservice);
  replaceMethod(app, 'useGlobalPipes', useCheckedPipes);
  const env = app.get(Env);
  const logger = app.get(PinoLogger);
  // The modules of a test exist before its application does.
  useLogger(logger);
  adapter.limits.waitMs = env.STORE_TIMEOUT_MS;
  app.set('trust proxy', env.TRUST_PROXY ?? false);
  app.set(PREFIX_KEY, env.PATH_PREFIX);
  app.use(requestMiddleware(logger, app.get(Connections), app.get(RequestMetrics)));
  if (env.CORS_ORIGINS.length > 0) app.enableCors({ origin: env.CORS_ORIGINS, ...CORS });
  app.get(DocsModule).document(app);
  return app;
}

/** Nest's proxies of an application ignore an assignment. */
function replaceMethod(app: INestApplication, name: keyof INestApplication, value: unknown): void {
  Object.defineProperty(app, name, { value, configurable: true });
}

/** @throws TypeError when a pipe would change the operations of plants, or have no effect */
function useCheckedPipes(this: INestApplication, ...pipes: PipeTransform[]): INestApplication {
  pipes.forEach(checkGlobalPipe);
  return NestApplication.prototype.useGlobalPipes.apply(this, pipes);
}

/** @throws TypeError always: Nest would handle messages without the guard that checks tokens */
function refuseMicroservice(): never {
  throw new TypeError(
    'connectMicroservice(): messages would be handled without a token. Write a program of its own for them, with NestFactory.createMicroservice() and a module without PlatformModule',
  );
}

/** The logger of the last application. */
let lastLogger: PinoLogger | undefined;

/** Lets Nest's loggers write through the logger of the platform as soon as this exists. */
function useLogger(instance: unknown): unknown {
  if (instance instanceof PinoLogger) {
    // Nest logs that a package is missing, and exits at once: also while the modules are created.
    if (lastLogger === undefined) process.once('exit', () => lastLogger?.flushOnExit());
    lastLogger = instance;
    Logger.overrideLogger(instance);
    Logger.flush();
  }
  return instance;
}

import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import { Env } from './platform/config/env.js';
import { DocsModule } from './platform/openapi/docs.module.js';
import { Connections } from './platform/server/connections.js';
import { requestMiddleware } from './platform/server/request.middleware.js';
import { createExpress, FastExpressAdapter } from './platform/server/fast-express-adapter.js';
import { PinoLogger } from './platform/observability/pino-logger.js';

/** Lets pages of other origins call the service, read its headers, and send their own request ids. */
const CORS = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowedHeaders: ['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', 'X-Request-Id'],
  exposedHeaders: [
    ...['Accept-Patch', 'ETag', 'Link', 'Location', 'RateLimit', 'RateLimit-Policy'],
    ...['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
  ],
  maxAge: 600,
  // OPTIONS is answered as without CORS: 204 with Allow, or an error.
  preflightContinue: true,
};

/**
 * Creates the application as it runs in production, configured by the environment. The program, its
 * tests and the writer of the documents all use it.
 *
 * @param features modules besides those of the program
 * @throws EnvError, DatabaseStartError
 */
export async function createApp(features: readonly Type[] = []): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.create(features),
    new FastExpressAdapter(createExpress()),
    // A start that fails throws its error: Nest must neither print it nor exit.
    { abortOnError: false, bufferLogs: true, autoFlushLogs: false, bodyParser: false },
  );
  const env = app.get(Env);
  const logger = app.get(PinoLogger);
  app.useLogger(logger);
  app.flushLogs();
  app.set('trust proxy', env.TRUST_PROXY);
  app.use(requestMiddleware(logger, app.get(Connections)));
  if (env.CORS_ORIGINS.length > 0) app.enableCors({ origin: env.CORS_ORIGINS, ...CORS });
  app.get(DocsModule).document(app);
  return app;
}

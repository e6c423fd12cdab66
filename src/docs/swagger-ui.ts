import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { RequestHandler } from 'express';
import { methodNotAllowed } from '../http/unrouted.filter.js';
import { buildOpenApi } from './openapi.js';

/** Serves Swagger UI at /docs and the OpenAPI document at /openapi.json. */
export function setUpDocs(app: INestApplication): void {
  app.use('/docs', docsMiddleware);
  SwaggerModule.setup('docs', app, () => buildOpenApi(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Plant Store',
    swaggerOptions: { tryItOutEnabled: true },
  });
}

const ALLOWED = 'GET, HEAD, OPTIONS';

/** Everything below /docs is for reading, and the page may run its own scripts and nothing else. */
const docsMiddleware: RequestHandler = (req, res, next) => {
  res.setHeader(
    'Content-Security-Policy',
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
  );
  if (req.method === 'GET' || req.method === 'HEAD') next();
  else if (req.method === 'OPTIONS') res.writeHead(204, { Allow: ALLOWED }).end();
  else throw methodNotAllowed(ALLOWED);
};

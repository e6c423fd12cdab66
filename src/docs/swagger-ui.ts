import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { RequestHandler } from 'express';
import { methodNotAllowed } from '../errors/method-not-allowed.js';
import { buildOpenApi } from './openapi.js';

/** Serves Swagger UI at /docs and the OpenAPI document at /openapi.json. */
export function setUpDocs(app: INestApplication): void {
  app.use('/docs', docsMiddleware);
  SwaggerModule.setup('docs', app, () => buildOpenApi(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Plant Store',
    customCss: FIT_NARROW_WINDOWS,
    swaggerOptions: { tryItOutEnabled: true },
  });
}

/** Swagger UI lets the buttons over an operation and the column of links run out of a narrow window. */
const FIT_NARROW_WINDOWS = `
  @media (max-width: 640px) {
    .swagger-ui .try-out { padding: 0; }
    .swagger-ui .try-out__btn { min-width: 0; margin: 0 0 0 8px; padding: 5px 12px; }
    .swagger-ui .response-col_links { display: none; }
  }
`;

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

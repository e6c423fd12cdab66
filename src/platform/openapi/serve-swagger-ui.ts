import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { RequestHandler, Response } from 'express';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { ApiError, methodNotAllowed } from '../errors/api-error.js';
import { buildOpenApi } from './build-openapi.js';
import { showExactNumbers, STYLE } from './swagger-ui-page.js';

/** Serves Swagger UI at /docs and the OpenAPI document at /openapi.json. */
export function setUpDocs(app: INestApplication): void {
  app.use('/docs', createDocsMiddleware());
  let text: string | undefined;
  // SwaggerModule would write the document anew for each request.
  app.getHttpAdapter().get('/openapi.json', (_: unknown, res: Response) => {
    text ??= JSON.stringify(buildOpenApi(app));
    res.type('json').send(text);
  });
  SwaggerModule.setup('docs', app, () => buildOpenApi(app), {
    raw: false,
    customSiteTitle: 'Plant Store',
    customCss: STYLE,
    swaggerOptions: {
      layout: 'BaseLayout',
      tryItOutEnabled: true,
      // Kept in the browser's local storage.
      persistAuthorization: true,
      defaultModelsExpandDepth: 0,
      plugins: [showExactNumbers],
    },
  });
}

/** The files of Swagger UI that its page loads. */
const FILES = [
  ...['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js'],
  ...['favicon-16x16.png', 'favicon-32x32.png'],
];
/** The files that `SwaggerModule` generates. */
const GENERATED = new Set(['/', '/index.html', '/swagger-ui-init.js']);

const ALLOWED = 'GET, HEAD, OPTIONS';
/** The page may run only its own scripts. */
const CONTENT_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

// The version of Swagger UI that @nestjs/swagger depends on.
const { resolve } = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));

/**
 * Serves the files from memory, since `SwaggerModule` would read one for each request. Leaves the
 * generated files to `SwaggerModule`. Nothing else is below /docs.
 */
function createDocsMiddleware(): RequestHandler {
  const files = new Map(FILES.map((name) => [`/${name}`, readFile(name)]));
  return (req, res, next) => {
    const file = files.get(req.path);
    if (file === undefined && !GENERATED.has(req.path))
      throw new ApiError(ErrorCatalogue.NOT_FOUND);
    res.setHeader('Content-Security-Policy', CONTENT_POLICY);
    if (req.method === 'OPTIONS') res.writeHead(204, { Allow: ALLOWED }).end();
    else if (req.method !== 'GET' && req.method !== 'HEAD') throw methodNotAllowed(ALLOWED);
    else if (file === undefined) next();
    else res.type(file.type).set(file.headers).send(file.bytes);
  };
}

function readFile(name: string): { type: string; headers: object; bytes: Buffer } {
  const bytes = readFileSync(resolve(`swagger-ui-dist/${name}`));
  // Browsers revalidate their copy each time, and get 304 while it is current.
  const headers = { 'Cache-Control': 'no-cache', ETag: `"${hash('sha256', bytes, 'base64url')}"` };
  return { type: extname(name), headers, bytes };
}

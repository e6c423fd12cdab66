import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { RequestHandler } from 'express';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { methodNotAllowed } from '../errors/method-not-allowed.js';
import { buildOpenApi } from './openapi.js';

/** Serves Swagger UI at /docs and the OpenAPI document at /openapi.json. */
export function setUpDocs(app: INestApplication): void {
  app.use('/docs', docsMiddleware());
  SwaggerModule.setup('docs', app, () => buildOpenApi(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Plant Store',
    customCss: FIT_NARROW_WINDOWS,
    swaggerOptions: { tryItOutEnabled: true, plugins: [showExactNumbers] },
  });
}

/** CSS without which a narrow window would cut off buttons and a column of Swagger UI. */
const FIT_NARROW_WINDOWS = `
  @media (max-width: 640px) {
    .swagger-ui .try-out { padding: 0; }
    .swagger-ui .try-out__btn { min-width: 0; margin: 0 0 0 8px; padding: 5px 12px; }
    .swagger-ui .response-col_links { display: none; }
  }
`;

/** What a plugin uses of Swagger UI, and of React in it. */
interface SwaggerUi {
  readonly React: {
    createElement(component: unknown, properties: object, ...children: unknown[]): unknown;
  };
  readonly getComponent: (name: string, isContainer: boolean) => unknown;
}
type Reviver = (name: string, value: unknown, context: { readonly source: string }) => unknown;

/**
 * A plugin of Swagger UI. It parses an answer to print it anew, and would round integers beyond 2^53:
 * this prints the digits that were received. The page gets the function's own text, so that it must
 * refer to nothing outside itself.
 */
function showExactNumbers({ React, getComponent }: SwaggerUi): object {
  const json = JSON as unknown as {
    parse(text: string, reviver: Reviver): unknown;
    rawJSON(source: string): unknown;
  };
  const keepDigits: Reviver = (_, value, { source }) =>
    typeof value === 'number' ? json.rawJSON(source) : value;
  const print = (text: string): string => {
    try {
      return JSON.stringify(json.parse(text, keepDigits), null, 2);
    } catch {
      // It is not JSON, or the browser is too old for rawJSON(): the text as it was received.
      return text;
    }
  };
  const showBody =
    (original: unknown) =>
    (properties: { readonly content: unknown; readonly contentType?: string }): unknown => {
      const { content, contentType = '' } = properties;
      if (typeof content !== 'string' || !contentType.includes('json')) {
        return React.createElement(original, properties);
      }
      const how = { language: 'json', fileName: 'answer.json', downloadable: true, canCopy: true };
      return React.createElement(getComponent('HighlightCode', true), how, print(content));
    };
  return { wrapComponents: { responseBody: showBody } };
}

/** The files of Swagger UI that its page loads. */
const FILES = [
  ...['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js'],
  ...['favicon-16x16.png', 'favicon-32x32.png'],
];
/** What `SwaggerModule` generates. */
const GENERATED = new Set(['/', '/index.html', '/swagger-ui-init.js']);

const ALLOWED = 'GET, HEAD, OPTIONS';
/** The page may run its own scripts and nothing else. */
const CONTENT_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

// The version of Swagger UI that @nestjs/swagger depends on.
const { resolve } = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));

/**
 * Serves the files from memory, where `SwaggerModule` would open one for each request. What it
 * generates is left to it, and nothing else is below /docs.
 */
function docsMiddleware(): RequestHandler {
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
  // A browser revalidates its copy each time, and is answered 304 while it is current.
  const headers = { 'Cache-Control': 'no-cache', ETag: `"${hash('sha256', bytes, 'base64url')}"` };
  return { type: extname(name), headers, bytes };
}

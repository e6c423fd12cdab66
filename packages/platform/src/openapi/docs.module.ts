import { Global, type INestApplication, Module, type OnModuleInit } from '@nestjs/common';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { Env } from '../config/env.js';
import { Service } from '../config/service.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { buildOpenApi } from './build-openapi.js';
import {
  keepTokenInTab,
  showExactNumbers,
  signInByLink,
  STYLE,
  suggestNewIds,
} from './swagger-ui-page.js';

/** The paths of Swagger UI's page. */
const PAGES = ['/', '/index.html', '/swagger-ui-init.js'];
/** The files that the page loads. `SwaggerModule` would serve others too. */
const FILES = [
  ...['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js'],
  ...['favicon-16x16.png', 'favicon-32x32.png'],
];
/** Resolves the dependencies of Nest's package for OpenAPI, of which Swagger UI is one. */
const ofSwagger = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));
/** The page may run only its own scripts. */
const CONTENT_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

// The hooks of global modules run first: another module may serve files under every path.
@Global()
@Module({})
export class DocsModule implements OnModuleInit {
  private app: INestApplication | undefined;

  /** Serves the documents of an application once it is initialized. */
  document(app: INestApplication): void {
    this.app = app;
  }

  /** Runs after the controllers registered their routes, so that Express matches API routes first. */
  onModuleInit(): void {
    if (this.app !== undefined) serveDocs(this.app);
  }
}

/** Serves the OpenAPI document at /openapi.json, and Swagger UI unless a setting leaves it out. */
function serveDocs(app: INestApplication): void {
  let bytes: Buffer | undefined;
  app.getHttpAdapter().get('/openapi.json', (_: unknown, res: Response) => {
    bytes ??= Buffer.from(JSON.stringify(buildOpenApi(app)));
    res.type('json').send(bytes);
  });
  if (app.get(Env).SWAGGER_UI === 'on') serveSwaggerUi(app);
}

/** Serves Swagger UI at /docs, where / leads a browser. */
function serveSwaggerUi(app: INestApplication): void {
  const http = app.getHttpAdapter();
  const known = new Set([...PAGES, ...FILES.map((name) => `/${name}`)]);
  http.get('/', (_: unknown, res: Response) => res.redirect('/docs'));
  app.use('/docs', ({ path }: Request, res: Response, next: () => void) => {
    if (!known.has(path)) throw new ApiError(ErrorCatalogue.NOT_FOUND);
    res.setHeader('Content-Security-Policy', CONTENT_POLICY);
    next();
  });
  for (const name of FILES) {
    serveFile(app, name, readFileSync(ofSwagger.resolve(`swagger-ui-dist/${name}`)));
  }
  const plugins = [showExactNumbers, suggestNewIds, keepTokenInTab];
  // The links that a development start prints.
  if (app.get(Env).NODE_ENV !== 'production') plugins.push(signInByLink);
  SwaggerModule.setup('docs', app, () => describePage(app), {
    raw: false,
    customSiteTitle: app.get(Service).title,
    customCss: STYLE,
    swaggerOptions: {
      layout: 'BaseLayout',
      tryItOutEnabled: true,
      defaultModelsExpandDepth: 0,
      plugins,
    },
  });
}

/** Adds the version of the program to the page, whose document has the version of the interface. */
function describePage(app: INestApplication): OpenAPIObject {
  const document = structuredClone(buildOpenApi(app));
  leaveOutExamples(document);
  const { info } = document;
  const { version } = app.get(Service);
  const versions = `Version ${version} of the program serves version ${info.version} of the interface.`;
  info.description = `${info.description}\n\n${versions}`;
  return document;
}

type Path = OpenAPIObject['paths'][string];
type Operation = NonNullable<Path['get']>;

function listOperations(path: Path): Operation[] {
  return Object.values(path as Record<string, Operation>);
}

/** Swagger UI would send the examples of all parameters, also those that exclude each other. */
function leaveOutExamples({ paths }: OpenAPIObject): void {
  for (const { parameters = [] } of Object.values(paths).flatMap(listOperations)) {
    for (const parameter of parameters) {
      if ('in' in parameter && parameter.required !== true) delete parameter.example;
    }
  }
}

/**
 * Serves a file from memory. `SwaggerModule` would open it for each request, and read it into memory
 * that no bound counts.
 */
function serveFile(app: INestApplication, name: string, bytes: Buffer): void {
  const ETag = `"${hash('sha256', bytes, 'base64url')}"`;
  app.getHttpAdapter().get(`/docs/${name}`, (_: unknown, res: Response) => {
    // The next version of the program may have another file under this name.
    res.set({ ETag, 'Cache-Control': 'no-cache' }).type(extname(name)).send(bytes);
  });
}

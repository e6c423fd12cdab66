import { type INestApplication, Module, type OnModuleInit } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { buildOpenApi } from './build-openapi.js';
import { showExactNumbers, STYLE } from './swagger-ui-page.js';

/** The page of Swagger UI, and the files that it loads. `SwaggerModule` would serve others too. */
const FILES = new Set([
  ...['/', '/index.html', '/swagger-ui-init.js'],
  ...['/swagger-ui.css', '/swagger-ui-bundle.js', '/swagger-ui-standalone-preset.js'],
  ...['/favicon-16x16.png', '/favicon-32x32.png'],
]);
/** The page may run only its own scripts. */
const CONTENT_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

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

/** Serves Swagger UI at /docs, where / leads a browser, and the OpenAPI document at /openapi.json. */
function serveDocs(app: INestApplication): void {
  const http = app.getHttpAdapter();
  http.get('/', (_: unknown, res: Response) => res.redirect('/docs'));
  app.use('/docs', ({ path }: Request, res: Response, next: () => void) => {
    if (!FILES.has(path)) throw new ApiError(ErrorCatalogue.NOT_FOUND);
    res.setHeader('Content-Security-Policy', CONTENT_POLICY);
    next();
  });
  let text: string | undefined;
  // SwaggerModule would write the document anew for each request.
  http.get('/openapi.json', (_: unknown, res: Response) => {
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

import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { buildOpenApi } from './openapi.js';

/** Serves Swagger UI at /docs and the OpenAPI document at /openapi.json. */
export function setUpDocs(app: INestApplication): void {
  SwaggerModule.setup('docs', app, () => buildOpenApi(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Plant Store',
    swaggerOptions: { persistAuthorization: true, tryItOutEnabled: true },
  });
}

import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ErrorCatalogue, type ErrorEntry, statusOf } from '../errors/error-catalogue.js';
import { ErrorDto } from '../errors/error.dto.js';

type ErrorName = keyof typeof ErrorCatalogue;
type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & { 'x-errors'?: ErrorName[] };
type Responses = Operation['responses'];

const BEARER = 'bearer';
const TOKENS =
  'An access token: one that the operator of the service has given out, or a JWT of its identity provider. Sent as "Authorization: Bearer <ACCESS_TOKEN>".';
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

/** What any operation can answer, what one with a token can, and what one with a body can. */
const COMMON: ErrorName[] = [
  'MALFORMED_REQUEST',
  'TOKEN_MISSING',
  'TOKEN_REFUSED',
  'INSUFFICIENT_SCOPE',
  'REQUEST_TIMEOUT',
  'EXPECTATION_FAILED',
  'TOO_MANY_REQUESTS',
  'HEADERS_TOO_LARGE',
  'INTERNAL',
  'UNAVAILABLE',
];
const WITH_BODY: ErrorName[] = [
  'UNREADABLE_BODY',
  'INVALID_BODY',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
];

/** The OpenAPI document of the application, keys sorted. */
export function buildOpenApi(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Plant Store')
    .setDescription('A plant store over HTTP with JSON bodies')
    .setVersion('1.0.0')
    .addServer('/')
    .addTag('plants', 'The plants in the store')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: TOKENS }, BEARER)
    .addSecurityRequirements(BEARER)
    .build();
  const document = SwaggerModule.createDocument(app, config, { extraModels: [ErrorDto] });

  delete document.info.contact;
  Object.assign(document.info, { license: { name: 'MIT', identifier: 'MIT' } });
  // Clients need not know what is in a token, and not every one is a JWT.
  delete (document.components?.securitySchemes?.[BEARER] as { bearerFormat?: string }).bearerFormat;
  for (const path of Object.values(document.paths)) {
    for (const method of METHODS) {
      if (path[method] !== undefined) describeErrors(path[method]);
    }
  }
  return sortKeys(document) as OpenAPIObject;
}

function describeErrors(operation: Operation): void {
  operation.security = [{ [BEARER]: [] }];
  const names = [
    ...COMMON,
    ...(operation.requestBody === undefined ? [] : WITH_BODY),
    ...(operation['x-errors'] ?? []),
  ];
  delete operation['x-errors'];
  const entries = names
    .map((name): ErrorEntry => ErrorCatalogue[name])
    .sort((a, b) => a.error - b.error);
  for (const status of new Set(entries.map(statusOf))) {
    operation.responses[status] = errorResponse(
      entries.filter((entry) => statusOf(entry) === status),
    );
  }
}

function errorResponse(entries: ErrorEntry[]): Responses[string] {
  const conditions = entries.map(({ error, when }) => `${error}: ${when}`);
  const headers = [...new Set(entries.flatMap((entry) => Object.keys(entry.headers ?? {})))];
  return {
    description: `Error response, an unexpected error. ${conditions.join('. ')}`,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map((name) => [name, { schema: { type: 'string' } }])),
    }),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(
          entries.map(({ error, message }) => [error, { value: { error, message } }]),
        ),
      },
    },
  };
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sortKeys(member)]));
}

import { type INestApplication, RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/internal';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { ApiExtension, DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { BEARER } from '../auth/auth.decorators.js';
import { BatchedRepository } from '../database/batched-repository.js';
import {
  ErrorCatalogue,
  type ErrorEntry,
  type ErrorKind,
  getStatus,
} from '../errors/error-catalogue.js';
import { ErrorDto } from '../errors/error.dto.js';
import { NDJSON_TYPE } from '../requests/body-lines.js';
import { decorateHandler } from '../requests/request-binding.guard.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & {
  /** From `@ApiErrors()`. */
  'x-errors'?: ErrorEntry[];
  /** From `@ApiCreated()`: 50300 with another description. */
  'x-own-unavailable'?: ErrorEntry[];
  /** From {@link describeRemovals}. */
  'x-removal-errors'?: ErrorKind[];
  /** From `@Public()`. */
  'x-public'?: boolean;
  /** From `@ApiTag()`. */
  'x-tag-description'?: string;
};

const DESCRIPTION = `A plant store over HTTP with JSON bodies.

A string has neither U+0000 nor unpaired surrogates. An \`int64\` is a JSON number with all its digits, never a string.

The [OpenAPI document](/openapi.json) of this page.`;
const TOKENS =
  'An access token: one that the operator of the service has given out, or a JWT of its identity provider. Sent as "Authorization: Bearer <ACCESS_TOKEN>". A development start without tokens prints one in its terminal.';

/** The errors of all operations. */
const ANY_OPERATION: readonly ErrorEntry[] = [
  ErrorCatalogue.MALFORMED_REQUEST,
  ErrorCatalogue.REQUEST_TIMEOUT,
  ErrorCatalogue.EXPECTATION_FAILED,
  ErrorCatalogue.TOO_MANY_REQUESTS,
  ErrorCatalogue.HEADERS_TOO_LARGE,
  ErrorCatalogue.INTERNAL,
  ErrorCatalogue.UNAVAILABLE,
];
const WITH_TOKEN: readonly ErrorEntry[] = [
  ErrorCatalogue.TOKEN_MISSING,
  ErrorCatalogue.TOKEN_REFUSED,
  ErrorCatalogue.INSUFFICIENT_SCOPE,
];
const WITH_BODY: readonly ErrorEntry[] = [
  ErrorCatalogue.UNREADABLE_BODY,
  ErrorCatalogue.INVALID_BODY,
  ErrorCatalogue.BODY_TOO_LARGE,
  ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE,
];
/** Only the length and the type of bytes are checked. */
const WITH_BYTES: readonly ErrorEntry[] = [
  { ...ErrorCatalogue.UNREADABLE_BODY, message: 'The body is empty' },
  { ...ErrorCatalogue.BODY_TOO_LARGE, message: 'The body is larger than the operation takes' },
  ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE,
];
/** The faults of lines are part of the answer. */
const WITH_LINES: readonly ErrorEntry[] = [ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE];
/** A refused PATCH names the accepted media types (RFC 5789 section 3.1). */
const WITH_PATCH: readonly ErrorEntry[] = [
  { ...ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE, headers: { 'Accept-Patch': '' } },
];

/** Builds the OpenAPI document of the application. */
export function buildOpenApi(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Plant Store')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .addServer('/')
    .addSecurity(BEARER, { type: 'http', scheme: 'bearer', description: TOKENS })
    .addSecurityRequirements(BEARER)
    .build();
  describeRemovals(app);
  const document = SwaggerModule.createDocument(app, config, { extraModels: [ErrorDto] });

  delete document.info.contact;
  Object.assign(document.info, { license: { name: 'MIT', identifier: 'MIT' } });
  const operations = Object.values(document.paths).flatMap((path) =>
    Object.entries(path as Record<string, Operation>),
  );
  document.tags = describeTags(operations.map(([, operation]) => operation));
  for (const [method, operation] of operations) {
    const use = describeUse(method, operation);
    if (use !== '') operation.description ??= use;
    describeErrors(operation);
  }
  return document;
}

/** Gives handlers that remove rows the errors of foreign keys that may prevent this. */
function describeRemovals(app: INestApplication): void {
  for (const { controllers, providers } of app.get(ModulesContainer).values()) {
    const errors = [...providers.values()].flatMap(({ instance }) =>
      instance instanceof BatchedRepository ? (instance.removalError ?? []) : [],
    );
    if (errors.length === 0) continue;
    for (const { metatype } of controllers.values()) {
      const prototype = (metatype as Type<object>).prototype as Record<string, object>;
      for (const name of app.get(MetadataScanner).getAllMethodNames(prototype)) {
        const { [name]: handler = {} } = prototype;
        if (Reflect.getMetadata(METHOD_METADATA, handler) !== RequestMethod.DELETE) continue;
        decorateHandler(ApiExtension('x-removal-errors', errors), prototype, name);
      }
    }
  }
}

/** Describes an operation by its kind. */
function describeUse(method: string, operation: Operation): string {
  const retried = operation['x-errors']?.find(({ isRetry }) => isRetry === true);
  const sentences = [
    retried !== undefined &&
      `Safe to retry: the answer is ${retried.error} if the first attempt went through.`,
    method === 'put' &&
      'Replaces all of it: an optional member that the body leaves out is removed. Safe to retry.',
    method === 'patch' &&
      'A JSON merge patch (RFC 7396): changes the members that the body names, and removes those that are null. Safe to retry.',
    method === 'delete' && 'Safe to retry: a retry answers 404 if the first attempt went through.',
    hasLink(operation) &&
      'Follow the `Link` with `rel="next"` until there is none. Use it as it is: it holds all parameters of the next page.',
    method !== 'get' &&
      takesIfMatch(operation) &&
      'To change only what you have read, send its `ETag` as `If-Match`: the answer is 412 if somebody has changed it since.',
  ];
  return sentences.filter((sentence) => sentence !== false).join(' ');
}

function hasLink({ responses }: Operation): boolean {
  const all = Object.values(responses) as { readonly headers?: object }[];
  return all.some(({ headers = {} }) => 'Link' in headers);
}

function describeTags(operations: readonly Operation[]): { name: string; description: string }[] {
  const descriptions = new Map<string, string>();
  for (const operation of operations) {
    const { tags: [name] = [], 'x-tag-description': description } = operation;
    if (name !== undefined && description !== undefined) descriptions.set(name, description);
    delete operation['x-tag-description'];
  }
  const tags = Array.from(descriptions, ([name, description]) => ({ name, description }));
  return tags.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Documents the errors of an operation, by status. */
function describeErrors(operation: Operation): void {
  // `@RequireScopes()` has set this for operations with scopes of their own.
  operation.security ??= operation['x-public'] === true ? [] : [{ [BEARER]: [] }];
  const { content } = (operation.requestBody ?? {}) as { readonly content?: object };
  const errors: ErrorKind[] = [...ANY_OPERATION, ...errorsOfBody(content)];
  if (operation.security.length > 0) errors.push(...WITH_TOKEN);
  if (hasParameter(operation, ({ in: place }) => place === 'query' || place === 'path')) {
    errors.push(ErrorCatalogue.INVALID_PARAMETERS);
  }
  if (takesIfMatch(operation)) errors.push(ErrorCatalogue.PRECONDITION_FAILED);
  errors.push(...(operation['x-errors'] ?? []));
  errors.push(...(operation['x-own-unavailable'] ?? []));
  errors.push(...(operation['x-removal-errors'] ?? []));
  delete operation['x-errors'];
  delete operation['x-own-unavailable'];
  delete operation['x-removal-errors'];
  delete operation['x-public'];
  // Of two entries with one code, the later is that of the operation.
  const byCode = new Map(errors.map((entry) => [entry.error, entry]));
  const entries = [...byCode.values()].sort((a, b) => a.error - b.error);
  for (const status of new Set(entries.map(getStatus))) {
    const ofStatus = entries.filter((entry) => getStatus(entry) === status);
    operation.responses[status] = createErrorResponse(status, ofStatus);
  }
}

function errorsOfBody(content: object | undefined): readonly ErrorEntry[] {
  if (content === undefined) return [];
  if (NDJSON_TYPE in content) return WITH_LINES;
  if ('application/merge-patch+json' in content) return [...WITH_BODY, ...WITH_PATCH];
  return 'application/json' in content ? WITH_BODY : WITH_BYTES;
}

function takesIfMatch(operation: Operation): boolean {
  return hasParameter(operation, ({ name }) => name === 'If-Match');
}

function hasParameter(
  { parameters = [] }: Operation,
  isMeant: (parameter: { readonly name: string; readonly in: string }) => boolean,
): boolean {
  return parameters.some((parameter) => 'in' in parameter && isMeant(parameter));
}

function createErrorResponse(
  status: number,
  entries: readonly ErrorKind[],
): Operation['responses'][string] {
  const causes = entries.map(({ error, message }) => `- ${error}: ${message}`).join('\n');
  const headers = [...new Set(entries.flatMap((entry) => Object.keys(entry.headers ?? {})))];
  return {
    // The contract has this sentence for 400, and for no other status.
    description: status === 400 ? `Error response, an unexpected error.\n\n${causes}` : causes,
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

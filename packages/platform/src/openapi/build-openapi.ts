import { type INestApplication, RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/internal';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { BEARER } from '../auth/auth.decorators.js';
import { Env } from '../config/env.js';
import { Service } from '../config/service.js';
import { BatchedRepository } from 'durable-store';
import { ApiErrors } from '../errors/api-errors.decorator.js';
import {
  ErrorCatalogue,
  type ErrorEntry,
  type ErrorKind,
  getStatus,
} from '../errors/error-catalogue.js';
import { ErrorDto } from '../errors/error.dto.js';
import { getConstraintAnswer } from '../store/store-errors.js';
import { NDJSON_TYPE } from '../requests/body-lines.js';
import { MERGE_PATCH_TYPE } from '../requests/body-reader.js';
import { decorateHandler } from '../requests/request-binding.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & {
  /** From `@ApiErrors()`. */
  'x-errors'?: ErrorKind[];
  /** From `@ApiImport()`: the path of the schema of a line. */
  'x-line'?: string;
  /** From `@Public()`. */
  'x-public'?: boolean;
  /** From `@ApiTag()`. */
  'x-tag-description'?: string;
};

interface Parameter {
  readonly schema?: {
    type?: unknown;
    enum?: unknown[];
    oneOf?: { readonly type?: unknown }[];
    allOf?: unknown;
    example?: unknown;
  };
  allOf?: unknown;
}

type Schemas = NonNullable<OpenAPIObject['components']>['schemas'];
type ErrorResponse = NonNullable<Operation['responses'][string]>;

const TOKENS =
  'An access token: one that the operator of the service has given out, or a JWT of its identity provider. Sent as "Authorization: Bearer <ACCESS_TOKEN>". A development start without tokens prints one in its terminal.';

/**
 * The errors that any operation may answer, of statuses that it has no errors of its own for. They
 * are its `default` response.
 */
const ANY_OPERATION: readonly ErrorEntry[] = [
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

/** The responses that many operations have in common, by their names in `components`. */
const SHARED: Readonly<Record<string, readonly ErrorKind[]>> = {
  AnyFailure: ANY_OPERATION,
  Unauthorized: [ErrorCatalogue.TOKEN_MISSING, ErrorCatalogue.TOKEN_REFUSED],
  Forbidden: [ErrorCatalogue.INSUFFICIENT_SCOPE],
};

const ERROR = { $ref: '#/components/schemas/Error' };

/**
 * Builds the OpenAPI document of an application that is initialized.
 *
 * @see {@link https://spec.openapis.org/oas/v3.1.0 OpenAPI 3.1}
 * @example
 * ```ts
 * const app = await createApplication(AppModule.create([]));
 * await app.init();
 * console.log(JSON.stringify(buildOpenApi(app), null, 2));
 * ```
 */
export function buildOpenApi(app: INestApplication): OpenAPIObject {
  const { title, interface: offered } = app.get(Service);
  const { PATH_PREFIX } = app.get(Env);
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle(title)
    // It may have links to paths of the service.
    .setDescription(offered.description.replaceAll('](/', `](${PATH_PREFIX}/`))
    .setVersion(offered.version)
    .addServer(PATH_PREFIX || '/')
    .addSecurity(BEARER, { type: 'http', scheme: 'bearer', description: TOKENS })
    .addSecurityRequirements(BEARER)
    .build();
  describeRemovals(app);
  const document = SwaggerModule.createDocument(app, config, { extraModels: [ErrorDto] });

  delete document.info.contact;
  const { license } = offered;
  Object.assign(document.info, { license: { name: license, identifier: license } });
  const operations = Object.values(document.paths).flatMap((path) =>
    Object.entries(path as Record<string, Operation>),
  );
  document.tags = describeTags(operations.map(([, operation]) => operation));
  const shared = Object.entries(SHARED).map(
    ([name, errors]) => [name, createErrorResponse(errors)] as const,
  );
  document.components = { ...document.components, responses: Object.fromEntries(shared) };
  for (const [method, operation] of operations) {
    const use = describeUse(method, operation);
    if (use !== '') operation.description ??= use;
    describeAccess(operation);
    describeErrors(operation);
    correctParameters(operation);
    addExampleLine(operation, document.components.schemas);
  }
  return document;
}

/** A parameter is never null, even if it is a member that a body may have as null. */
function correctParameters({ parameters = [] }: Operation): void {
  for (const parameter of parameters as Parameter[]) {
    const { schema = {}, allOf } = parameter;
    if (Array.isArray(schema.type)) schema.type = schema.type.find((type) => type !== 'null');
    if (schema.enum) schema.enum = schema.enum.filter((word) => word !== null);
    if (schema.oneOf) {
      schema.oneOf = schema.oneOf.filter(({ type }) => type !== 'null');
      // @nestjs/swagger adds it.
      delete schema.type;
    }
    // @nestjs/swagger writes it beside the schema.
    if (allOf) schema.allOf = allOf;
    delete parameter.allOf;
    // It writes the example into the schema, where some tools do not look for it.
    const { example, ...others } = schema;
    if (example !== undefined) Object.assign(parameter, { schema: others, example });
  }
}

/** Makes the example of an import of the examples that the members of its lines have. */
function addExampleLine(operation: Operation, schemas: Schemas = {}): void {
  const { 'x-line': path = '' } = operation;
  delete operation['x-line'];
  const schema = schemas[path.split('/').at(-1) ?? ''];
  if (schema === undefined || !('properties' in schema)) return;
  const members = Object.entries(schema.properties ?? {}) as [string, { example?: unknown }][];
  const line = Object.fromEntries(members.map(([name, { example }]) => [name, example]));
  // Without an example of each required member there is no valid line.
  if (schema.required?.some((name) => line[name] === undefined)) return;
  Object.assign(readContent(operation)?.[NDJSON_TYPE] ?? {}, {
    example: `${JSON.stringify(line)}\n`,
  });
}

function listRemovalErrors({
  removalError,
}: Pick<BatchedRepository<object>, 'removalError'>): ErrorKind[] {
  return removalError === undefined ? [] : [getConstraintAnswer(removalError)];
}

/** Gives handlers that remove rows the errors of foreign keys that may prevent this. */
function describeRemovals(app: INestApplication): void {
  for (const { controllers, providers } of app.get(ModulesContainer).values()) {
    const errors = [...providers.values()].flatMap(({ instance }) =>
      instance instanceof BatchedRepository ? listRemovalErrors(instance) : [],
    );
    if (errors.length === 0) continue;
    for (const { metatype } of controllers.values()) {
      const prototype = (metatype as Type<object>).prototype as Record<string, object>;
      for (const name of app.get(MetadataScanner).getAllMethodNames(prototype)) {
        const { [name]: handler = {} } = prototype;
        if (Reflect.getMetadata(METHOD_METADATA, handler) !== RequestMethod.DELETE) continue;
        decorateHandler(ApiErrors(...errors), prototype, name);
      }
    }
  }
}

/** Describes an operation by its kind. */
function describeUse(method: string, operation: Operation): string {
  const retried = operation['x-errors']?.find(({ isRetry }) => isRetry === true);
  const body = readContent(operation);
  const sentences = [
    retried !== undefined &&
      `Safe to retry: the answer is ${retried.error} if the first attempt went through.`,
    method === 'put' &&
      body !== undefined &&
      'Replaces all of it: an optional member that the body leaves out is removed. Safe to retry.',
    body !== undefined &&
      MERGE_PATCH_TYPE in body &&
      'A JSON merge patch (RFC 7396): changes the members that the body names, and removes those that are null. Safe to retry.',
    method === 'delete' &&
      answersNotFound(operation) &&
      'Safe to retry: a retry answers 404 if the first attempt went through.',
    hasLink(operation) &&
      'Follow the `Link` with `rel="next"` until there is none. Use it as it is: it holds all parameters of the next page.',
    method === 'get' &&
      '304' in operation.responses &&
      'The answer has an `ETag`. To read again only what has changed, send it as `If-None-Match`: the answer is 304 without a body if nothing has.',
    method !== 'get' &&
      takesIfMatch(operation) &&
      'To change only what you have read, send its `ETag` as `If-Match`: the answer is 412 if somebody has changed it since.',
  ];
  return sentences.filter((sentence) => sentence !== false).join(' ');
}

function readContent({ requestBody }: Operation): Record<string, object> | undefined {
  return (requestBody as { readonly content?: Record<string, object> } | undefined)?.content;
}

function answersNotFound({ responses, 'x-errors': errors = [] }: Operation): boolean {
  return '404' in responses || errors.some((entry) => getStatus(entry) === 404);
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

/** Documents which token an operation needs. */
function describeAccess(operation: Operation): void {
  const { security = [{ [BEARER]: [] }], 'x-public': isPublic = false } = operation;
  delete operation['x-public'];
  // `@RequireScopes()` of a handler comes after its controller's, and replaces it.
  const required = isPublic ? undefined : security.findLast((one) => BEARER in one);
  operation.security = security.filter((one) => one === required || !(BEARER in one));
}

/** Documents the errors of an operation, by status. */
function describeErrors(operation: Operation): void {
  const { responses } = operation;
  const entries = listErrorsOf(operation);
  delete operation['x-errors'];
  for (const status of new Set(entries.map(getStatus))) {
    const ofStatus = entries.filter((entry) => getStatus(entry) === status);
    // What the author has documented stays.
    const own = responses[status];
    responses[status] =
      own === undefined
        ? shareErrorResponse(ofStatus)
        : { ...createErrorResponse(ofStatus), ...own };
  }
  responses.default ??= shareErrorResponse(ANY_OPERATION);
  // Every failure is answered in the Error shape, also one that an author has only described.
  for (const [status, response] of Object.entries(responses)) {
    const isFailure = Number(status) >= 400 && response !== undefined && !('$ref' in response);
    if (isFailure) response.content ??= { 'application/json': { schema: ERROR } };
  }
}

/** Lists the errors of an operation by their codes, with the general ones of the same statuses. */
function listErrorsOf(operation: Operation): ErrorKind[] {
  const body = readContent(operation);
  const own: ErrorKind[] = [ErrorCatalogue.MALFORMED_REQUEST, ...errorsOfBody(body)];
  if (operation.security?.length !== 0) own.push(...WITH_TOKEN);
  if (hasParameter(operation, ({ in: location }) => location === 'query' || location === 'path')) {
    own.push(ErrorCatalogue.INVALID_PARAMETERS);
  }
  if (takesIfMatch(operation)) own.push(ErrorCatalogue.PRECONDITION_FAILED);
  own.push(...(operation['x-errors'] ?? []));
  const statuses = new Set(own.map(getStatus));
  const general = ANY_OPERATION.filter((entry) => statuses.has(getStatus(entry)));
  // Of two entries with one code, the later belongs to the operation.
  const byCode = new Map([...general, ...own].map((entry) => [entry.error, entry]));
  return [...byCode.values()].sort((a, b) => a.error - b.error);
}

/** Refers to the response that has exactly these errors, or creates one. */
function shareErrorResponse(entries: readonly ErrorKind[]): ErrorResponse {
  const codes = entries.map(({ error }) => error).join();
  const found = Object.entries(SHARED).find(
    ([, errors]) => errors.map(({ error }) => error).join() === codes,
  );
  if (found === undefined) return createErrorResponse(entries);
  return { $ref: `#/components/responses/${found[0]}` };
}

function errorsOfBody(content: object | undefined): readonly ErrorEntry[] {
  if (content === undefined) return [];
  if (NDJSON_TYPE in content) return WITH_LINES;
  if (MERGE_PATCH_TYPE in content) return [...WITH_BODY, ...WITH_PATCH];
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

/** @param entries of one status, or of several that no other response of the operation has */
function createErrorResponse(entries: readonly ErrorKind[]): ErrorResponse {
  const causes = entries.map(({ error, message }) => `- ${error}: ${message}`).join('\n');
  const headers = [...new Set(entries.flatMap((entry) => Object.keys(entry.headers ?? {})))];
  return {
    // The contract has this sentence for 400, and for no other status.
    description: entries.some((entry) => getStatus(entry) === 400)
      ? `Error response, an unexpected error.\n\n${causes}`
      : causes,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map((name) => [name, { schema: { type: 'string' } }])),
    }),
    content: {
      'application/json': {
        schema: ERROR,
        examples: Object.fromEntries(
          entries.map(({ error, message }) => [error, { value: { error, message } }]),
        ),
      },
    },
  };
}

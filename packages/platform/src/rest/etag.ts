import { applyDecorators, HttpStatus, type Type } from '@nestjs/common';
import { ApiOkResponse, ApiResponse, type ApiResponseNoStatusOptions } from '@nestjs/swagger';
import type { Response } from 'express';
import { hash } from 'node:crypto';
import { ConvertResult } from '../requests/request-binding.js';
import { addDefaultHeaders } from '../server/default-headers.js';
import { describeHeader } from './api.decorators.js';
import { ApiPreconditions, Preconditions } from './preconditions.js';

/**
 * The current representation of a row, with its entity tag from {@link makeEtag}.
 *
 * @example
 * ```ts
 * const plant: Representation<PlantDto> = {
 *   body: { name: 'Monstera', tag: 'indoor' },
 *   etag: makeEtag('Monstera', 'indoor'),
 * };
 * ```
 */
export interface Representation<Body> {
  readonly body: Body;
  readonly etag: string;
}

/** These characters are 132 bits, so that no two values share a tag in practice. */
export const ETAG_LENGTH = 22;

/**
 * Makes a strong entity tag from values alone, so that it is the same in every store. Give it all
 * members that a client can read or replace, always in the same order.
 *
 * @param values what `JSON.stringify` can write: no bigint
 * @returns 22 characters of base64url in double quotes
 * @throws TypeError for a bigint
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3 RFC 9110 section 8.8.3}
 * @example
 * ```ts
 * function toEtag({ name, tag }: Plant): string {
 *   return makeEtag(name, tag);
 * }
 * ```
 */
export function makeEtag(...values: readonly unknown[]): string {
  return `"${hash('sha256', JSON.stringify(values), 'base64url').slice(0, ETAG_LENGTH)}"`;
}

const ETAG = { ETag: describeHeader('Changes with what is stored') };

/**
 * Returns the body of the representation; undefined for 304, if the client has the current version.
 *
 * @throws ApiError 41200
 */
export function convertRepresentation<Body>(
  { body, etag }: Representation<Body>,
  response: Response,
): Body | undefined {
  const isModified = new Preconditions(response.req.headers).isModified(etag);
  addDefaultHeaders(response, 'ETag', etag);
  if (isModified) return body;
  response.status(HttpStatus.NOT_MODIFIED);
  return undefined;
}

/** Documents the answers with a representation, or with 304. */
export function ApiRepresentationResponses(success: ApiResponseNoStatusOptions): MethodDecorator {
  return applyDecorators(
    ApiPreconditions(),
    ApiOkResponse({ ...success, headers: ETAG }),
    ApiResponse({
      status: HttpStatus.NOT_MODIFIED,
      description: '`If-None-Match` has the current ETag',
      content: {},
      headers: ETAG,
    }),
  );
}

/**
 * Answers with the stored row and its ETag, or with 304 if the client has the current version. The
 * handler returns a {@link Representation}. A client gets 41200 if its `If-Match` has another ETag.
 *
 * @param type the class of the body
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-13.1 RFC 9110 section 13.1}
 * @example
 * ```ts
 * @Get(':id')
 * @ApiRepresentation(StoredPlantDto, 'The plant as it is stored')
 * read(@Param() { id }: IdDto): Promise<Representation<StoredPlantDto>> {
 *   return this.plants.read(id);
 * }
 * ```
 */
export function ApiRepresentation(type: Type, description: string): MethodDecorator {
  return applyDecorators(
    ConvertResult(convertRepresentation<unknown>),
    ApiRepresentationResponses({ description, type }),
  );
}

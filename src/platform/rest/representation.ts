import { applyDecorators, HttpStatus, type Type } from '@nestjs/common';
import { ApiOkResponse, ApiResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Preconditions } from './preconditions.js';

const ETAG = {
  ETag: { description: 'Changes with what is stored', schema: { type: 'string' as const } },
};

/** Documents that an operation answers with what is stored, or 304 where the client has it. */
export function ApiRepresentation(type: Type, description: string): MethodDecorator {
  return applyDecorators(
    ApiOkResponse({ description, type, headers: ETAG }),
    ApiResponse({
      status: HttpStatus.NOT_MODIFIED,
      description: '`If-None-Match` has the current ETag',
      content: {},
      headers: ETAG,
    }),
  );
}

/**
 * The body of what is stored, or none with the status 304 where the client has it.
 *
 * @throws ApiError 41200
 */
export function representation<Body>(
  body: Body,
  etag: string,
  preconditions: Preconditions,
  response: Response,
): Body | undefined {
  const isNeeded = preconditions.needRepresentation(etag);
  response.setHeader('ETag', etag);
  if (isNeeded) return body;
  response.status(HttpStatus.NOT_MODIFIED);
  return undefined;
}

import { applyDecorators, HttpStatus, type Type } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtension } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { MAY_BE_STORED } from '../errors/error-catalogue.js';
import { ConvertResult } from '../requests/request-binding.guard.js';

const LOCATION = {
  Location: {
    description: 'The path of what was created',
    required: true,
    schema: { type: 'string' as const },
  },
};

/** A created row with its generated id. */
interface Created {
  readonly id: unknown;
}

/** Sets `Location` (RFC 9110 section 10.2.2) to the path of the request and the id. */
function convert(body: Created, request: Request, response: Response): Created {
  response.status(HttpStatus.CREATED);
  response.setHeader('Location', `${request.path}/${encodeURIComponent(String(body.id))}`);
  return body;
}

/**
 * Answers 201 with the created row and its `Location`. It is for rows whose id is generated: the
 * handler returns the row with its `id`. The documentation warns that a retry may create a second
 * row.
 */
export function ApiCreated(type: Type<Created>, description: string): MethodDecorator {
  return applyDecorators(
    ConvertResult(convert),
    ApiCreatedResponse({ description, type, headers: LOCATION }),
    ApiExtension('x-own-unavailable', [MAY_BE_STORED]),
  );
}

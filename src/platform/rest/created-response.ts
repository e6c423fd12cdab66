import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  HttpStatus,
  Injectable,
  type NestInterceptor,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { ApiCreatedResponse, ApiExtension } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import { MAY_BE_STORED } from '../errors/error-catalogue.js';

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
@Injectable()
class CreatedInterceptor implements NestInterceptor<Created> {
  intercept(context: ExecutionContext, next: CallHandler<Created>): Observable<Created> {
    const [request, response] = context.getArgs<[Request, Response]>();
    return next.handle().pipe(
      map((body) => {
        response.status(HttpStatus.CREATED);
        response.setHeader('Location', `${request.path}/${encodeURIComponent(String(body.id))}`);
        return body;
      }),
    );
  }
}

/**
 * Answers 201 with the created row and its `Location`. It is for rows whose id is generated: the
 * handler returns the row with its `id`. The documentation warns that a retry may create a second
 * row.
 */
export function ApiCreated(type: Type<Created>, description: string): MethodDecorator {
  return applyDecorators(
    UseInterceptors(CreatedInterceptor),
    ApiCreatedResponse({ description, type, headers: LOCATION }),
    ApiExtension('x-own-unavailable', [MAY_BE_STORED]),
  );
}

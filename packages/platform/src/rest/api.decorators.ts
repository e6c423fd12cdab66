import {
  applyDecorators,
  HttpCode,
  HttpStatus,
  type NestInterceptor,
  SetMetadata,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExtension,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import { map } from 'rxjs';
import { ApiErrors } from '../errors/api-errors.decorator.js';
import { MAY_BE_STORED } from '../errors/error-catalogue.js';
import { ConvertResult, JSON_LIMIT } from '../requests/request-binding.js';
import { addPathPrefix } from '../server/path-prefix.js';
import { GeneratedAnswer } from '../server/send-stream.js';

/**
 * Gives the operations of a controller a tag, and the tag its description. Swagger UI shows the
 * operations of one tag together.
 *
 * @example
 * ```ts
 * @ApiTag('plants', 'The plants in the store')
 * @Controller('plants')
 * class PlantsController {}
 * ```
 */
export function ApiTag(name: string, description: string): ClassDecorator {
  return applyDecorators(ApiTags(name), ApiExtension('x-tag-description', description));
}

/** The most that {@link BodyLimit} takes, in bytes. */
export const MAX_BODY_LIMIT = 1024 * 1024;

/**
 * Sets how many bytes the JSON body of a handler may have, instead of 100 KiB. A client gets 41300
 * for a longer one. Reading 1 MiB takes up to 80 ms, while no other request is handled, and up to
 * 40 MiB of memory.
 *
 * @param bytes 1 to 1,048,576 (1 MiB)
 * @throws RangeError for another number of bytes
 * @example
 * ```ts
 * @Post()
 * @BodyLimit(300_000)
 * create(@Body() plant: NewPlantDto): Promise<PlantDto> {
 *   return this.plants.create(plant);
 * }
 * ```
 */
export function BodyLimit(bytes: number): MethodDecorator {
  if (!Number.isInteger(bytes) || bytes < 1 || bytes > MAX_BODY_LIMIT) {
    throw new RangeError(`@BodyLimit(${bytes}): a body may have 1 to ${MAX_BODY_LIMIT} bytes`);
  }
  return SetMetadata(JSON_LIMIT, bytes);
}

/**
 * Answers 200 with what the handler returns.
 *
 * @param type the class of the answer
 * @example
 * ```ts
 * @Post()
 * @ApiOk(PlantDto, 'Plant response; the plant was created')
 * create(@Body() plant: NewPlantDto): Promise<PlantDto> {
 *   return this.plants.create(plant);
 * }
 * ```
 */
export function ApiOk(type: Type, description: string): MethodDecorator {
  return applyDecorators(HttpCode(HttpStatus.OK), ApiOkResponse({ description, type }));
}

/**
 * Answers 204 without a body, whatever the handler returns.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-15.3.5 RFC 9110 section 15.3.5}
 * @example
 * ```ts
 * @Delete(':id')
 * @ApiNoContent('The sale was removed')
 * remove(@Param() { id }: UuidDto): Promise<void> {
 *   return this.sales.remove(id);
 * }
 * ```
 */
export function ApiNoContent(description: string): MethodDecorator {
  return applyDecorators(HttpCode(HttpStatus.NO_CONTENT), ApiNoContentResponse({ description }));
}

/** A created row with its generated id. */
interface Created {
  readonly id: unknown;
}

/** Describes a header of an answer. */
export function describeHeader(description: string): {
  description: string;
  schema: { type: 'string' };
} {
  return { description, schema: { type: 'string' } };
}

/**
 * Answers 201 with the created row and its `Location`. It is for rows whose id is generated: the
 * handler returns the row with its `id`. The documentation warns that a retry may create a second
 * row.
 *
 * @param type the class of the row
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-15.3.2 RFC 9110 section 15.3.2}
 * @example
 * ```ts
 * @Post()
 * @ApiCreated(SaleDto, 'The sale was recorded')
 * create(@Body() sale: NewSaleDto, @Caller() { client }: RequestCaller): Promise<SaleDto> {
 *   return this.sales.create(sale, client);
 * }
 * ```
 */
export function ApiCreated(type: Type<Created>, description: string): MethodDecorator {
  const Location = { ...describeHeader('The path of what was created'), required: true };
  return applyDecorators(
    ConvertResult(setLocation),
    ApiCreatedResponse({ description, type, headers: { Location } }),
    ApiErrors(MAY_BE_STORED),
  );
}

/** Sets `Location` (RFC 9110 section 10.2.2) to the path of the request and the id. */
function setLocation(body: Created, response: Response): Created {
  response.status(HttpStatus.CREATED);
  const path = addPathPrefix(response.app, response.req.path);
  response.setHeader('Location', `${path}/${encodeURIComponent(String(body.id))}`);
  return body;
}

/**
 * Answers with text that is generated while it is sent, such as a CSV file. The handler returns an
 * `AsyncIterable<string>`, whose pieces are requested only as fast as the client reads. An error
 * before the first piece is answered like any other. A later error closes the connection, so that a
 * truncated answer never looks complete.
 *
 * @param mediaType the media type of the answer, such as `text/csv; charset=utf-8`
 * @example
 * ```ts
 * @Get('export')
 * @ApiStream('text/csv; charset=utf-8', 'A line for each sale')
 * export(): AsyncIterable<string> {
 *   return this.sales.export();
 * }
 * ```
 */
export function ApiStream(mediaType: string, description: string): MethodDecorator {
  // Without an interceptor, Nest would send the iterable in its own way.
  const interceptor: NestInterceptor<AsyncIterable<string>> = {
    intercept: (_, next) =>
      next.handle().pipe(map((pieces) => new GeneratedAnswer(pieces, { type: mediaType }))),
  };
  return applyDecorators(
    UseInterceptors(interceptor),
    ApiOkResponse({ description, content: { [mediaType]: { schema: { type: 'string' } } } }),
  );
}

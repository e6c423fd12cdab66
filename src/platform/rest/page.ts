import { applyDecorators, type Type } from '@nestjs/common';
import { ApiOkResponse, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';
import type { Response } from 'express';
import type { JsonPage } from '../database/batched-repository.js';
import type { JsonText } from '../json/json-text.js';
import { IsInt64 } from '../validation/is-int64.decorator.js';
import { IsOptionalNotNull } from '../validation/is-optional-not-null.decorator.js';

const LINK = {
  Link: {
    description: 'The next page, with rel="next", while there is more',
    schema: { type: 'string' as const },
  },
};

/** Which page to read of what has an int64 as its key. A feature extends it by its own filters. */
export class PageQueryDto {
  @IsInt()
  @Min(1)
  @Max(1000)
  @ApiProperty({ description: 'How many to list at most' })
  limit = 100;

  @IsOptionalNotNull()
  @IsInt64()
  @ApiPropertyOptional({
    description: 'The id after which the page begins: the last one of the page before',
    type: 'integer',
    format: 'int64',
  })
  after?: bigint;
}

/** Documents that an operation answers with a page of these. */
export function ApiPage(type: Type, description: string): MethodDecorator {
  return applyDecorators(ApiOkResponse({ description, type: [type], headers: LINK }));
}

/** The body of a page; its `Link` (RFC 8288) is to the next one, which is of the same query. */
export function pageBody(
  { json, next }: JsonPage,
  query: PageQueryDto,
  response: Response,
): JsonText {
  if (next !== undefined) {
    // Always in this order, whichever the client's was.
    const parameters = new Map<string, unknown>([
      ['limit', query.limit],
      ['after', next],
    ]);
    for (const [name, value] of Object.entries(query)) {
      if (!parameters.has(name)) parameters.set(name, value);
    }
    const text = [...parameters].map(
      ([name, value]) => `${name}=${encodeURIComponent(String(value))}`,
    );
    response.setHeader('Link', `<${response.req.path}?${text.join('&')}>; rel="next"`);
  }
  return json;
}

import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { ApiOkResponse, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';
import type { Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import type { JsonPage } from '../database/batched-repository.js';
import { IsInt64, IsOptionalNotNull } from '../validation/types.decorators.js';

const LINK = {
  Link: {
    description: 'The next page, with rel="next", while there is more',
    schema: { type: 'string' as const },
  },
};

/** Which page to read of rows that have an int64 as their key. A feature extends it by its own filters. */
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
  })
  after?: bigint;
}

/** Answers with a page, and with a `Link` (RFC 8288) to the next one, which is of the same query. */
@Injectable()
class LinkInterceptor implements NestInterceptor<JsonPage> {
  intercept(context: ExecutionContext, next: CallHandler<JsonPage>): Observable<unknown> {
    const [request, response] = context.getArgs<[Request, Response]>();
    return next.handle().pipe(
      map(({ json, next: end }) => {
        if (end !== undefined) {
          const query = request.query as unknown as PageQueryDto;
          response.setHeader('Link', `<${request.path}?${writeQuery(query, end)}>; rel="next"`);
        }
        return json;
      }),
    );
  }
}

/** Answers with a page of these, and a `Link` to the next one. The handler returns a `JsonPage`. */
export function ApiPage(type: Type, description: string): MethodDecorator {
  return applyDecorators(
    UseInterceptors(LinkInterceptor),
    ApiOkResponse({ description, type: [type], headers: LINK }),
  );
}

/** The parameters of the next page, always in this order, whichever the client's was. */
function writeQuery(query: PageQueryDto, next: string): string {
  const parameters = new Map<string, unknown>([
    ['limit', query.limit],
    ['after', next],
  ]);
  for (const [name, value] of Object.entries(query)) {
    if (!parameters.has(name) && value !== undefined) parameters.set(name, value);
  }
  return [...parameters]
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');
}

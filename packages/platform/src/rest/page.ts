import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiOkResponse,
  ApiProperty,
  ApiPropertyOptional,
  getSchemaPath,
} from '@nestjs/swagger';
import { IsIn, IsInt, IsString, Min } from 'class-validator';
import type { Response } from 'express';
import type { IncomingHttpHeaders } from 'node:http';
import { iterate, type JsonPage, type PageQuery } from 'durable-store';
import { isInt64Text, JsonText } from 'durable-store/json';
import { TakesTurns, takeTurn } from '../limits/request-limits.js';
import { endTurn } from '../limits/request-turns.js';
import { NDJSON_TYPE } from '../requests/body-lines.js';
import { ConvertResult } from '../requests/request-binding.js';
import type { ReadsHeaders } from '../requests/read-parameters.js';
import { addDefaultHeaders } from '../server/default-headers.js';
import { addPathPrefix } from '../server/path-prefix.js';
import { GeneratedAnswer } from '../server/send-stream.js';
import { describeHeader } from './api.decorators.js';
import {
  IsOptionalNotNull,
  type MemberDecorator,
  Satisfies,
} from '../validation/types.decorators.js';

const JSON_TYPE = 'application/json';

/** The most rows of a page of JSON; the number of lines is unlimited. */
const MAX_LIMIT = 1_000;

/**
 * The query of a list: `limit`, from 1 to 1,000 with a default of 100, and `after`, the end of the
 * page before. A list of lines may have any limit, and has all rows by default. A module extends
 * the class with its own filters, and with `sort`.
 *
 * @example
 * ```ts
 * class ListPlantsDto extends PageQueryDto {
 *   @IsOptionalNotNull()
 *   @IsText({ maxLength: 64 })
 *   @ApiPropertyOptional({ description: 'Only plants with exactly this tag' })
 *   tag?: string;
 * }
 * ```
 */
export class PageQueryDto implements PageQuery, ReadsHeaders {
  @IsInt()
  @Min(1)
  @Satisfies(
    `must not be greater than ${MAX_LIMIT}`,
    ({ limit, format }: PageQueryDto) => format === 'lines' || limit <= MAX_LIMIT,
  )
  @ApiProperty({
    description: `How many to list at most, from 1 to ${MAX_LIMIT}. Lines may be any number, and all by default`,
    maximum: MAX_LIMIT,
    example: 100,
  })
  limit = 100;

  @IsOptionalNotNull()
  @IsString()
  // Whether it belongs to the list is checked when the list is read.
  @Satisfies(
    'must be taken from the Link of the previous page',
    ({ after }: PageQueryDto) => isInt64Text(after) || /^Wy[IJ][\w-]+$/.test(String(after)),
  )
  @ApiPropertyOptional({
    description:
      'Where the previous page ended, as given in its `Link`. In the order of an integer key, this is the last key of that page',
    example: '1000',
  })
  after?: string;

  format?: PageQuery['format'];

  readHeaders({ accept }: IncomingHttpHeaders): void {
    if (!prefersLines(accept)) return;
    this.format = 'lines';
    this.limit = Number.MAX_SAFE_INTEGER;
  }
}

/** The members of a list of media types. Commas in quoted texts do not separate members. */
const RANGES = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;
/** A media type, and its weight if it has one (RFC 9110 section 12.4.2). */
const RANGE = /^\s*([^\s;]+)(?:.*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$))?/i;

/**
 * Whether a client accepts lines by name, with at least the weight of JSON. JSON has the weight of
 * the most specific range that matches it (RFC 9110 section 12.5.1). `req.accepts()` returns no
 * weights, and prefers what comes first.
 */
function prefersLines(accept = ''): boolean {
  if (!accept.toLowerCase().includes(NDJSON_TYPE)) return false;
  const weights = new Map<string, number>();
  for (const [range] of accept.matchAll(RANGES)) {
    const [, name = '', weight = 1] = RANGE.exec(range) ?? [];
    const type = name.toLowerCase();
    weights.set(type, Math.max(Number(weight), weights.get(type) ?? 0));
  }
  const weight = weights.get(NDJSON_TYPE) ?? 0;
  const jsonRange = [JSON_TYPE, 'application/*', '*/*'].find((range) => weights.has(range)) ?? '';
  return weight > 0 && weight >= (weights.get(jsonRange) ?? 0);
}

/**
 * Accepts the names of orders, each also with a minus in front for its reverse. The member is
 * optional.
 *
 * @param orders `id` or another key, and names of `orders` in the options of the repository
 * @example
 * ```ts
 * class ListPlantsDto extends PageQueryDto {
 *   @IsSort('id', 'name')
 *   sort?: string;
 * }
 * ```
 */
export function IsSort(...orders: readonly string[]): MemberDecorator<string> {
  return applyDecorators(
    IsOptionalNotNull(),
    IsIn(orders.flatMap((order) => [order, `-${order}`])),
  );
}

/** Returns the rows of a page, and sets the `Link` (RFC 8288) to the next one. */
function convert({ json, next }: JsonPage, response: Response): unknown {
  // With CORS there is one already.
  if (response.hasHeader('Vary')) response.vary('Accept');
  else addDefaultHeaders(response, 'Vary', 'Accept');
  setNextLink(response, next);
  if (json instanceof JsonText) return json;
  return new GeneratedAnswer(readInTurn(json, response), { type: NDJSON_TYPE });
}

/** Reads the pieces of a page. Each piece takes a turn of its own. */
function readInTurn(pieces: AsyncIterable<string>, response: Response): AsyncIterable<string> {
  const iterator = pieces[Symbol.asyncIterator]();
  const readNext = async (): Promise<string | undefined> => {
    await takeTurn(response, 'exports');
    try {
      const piece = await iterator.next();
      return piece.done === true ? undefined : piece.value;
    } finally {
      endTurn(response);
    }
  };
  return iterate(readNext, () => iterator.return?.());
}

/**
 * Answers with a page of instances of a class and a `Link` to the next page, or with all instances
 * as lines to a client that accepts `application/x-ndjson`. The handler returns a {@link JsonPage}.
 *
 * @param type the class of a row
 * @see {@link https://www.rfc-editor.org/rfc/rfc8288 RFC 8288}
 * @example
 * ```ts
 * @Get()
 * @ApiPage(StoredPlantDto, 'A page of plants')
 * list(@Query() query: ListPlantsDto): Promise<JsonPage> {
 *   return this.plants.list(query);
 * }
 * ```
 */
export function ApiPage(type: Type, description: string): MethodDecorator {
  const Link = describeHeader('The next page, with rel="next", while there is more');
  return applyDecorators(
    TakesTurns('pages'),
    ConvertResult(convert),
    ApiExtraModels(type),
    ApiOkResponse({
      description,
      headers: { Link },
      content: {
        [JSON_TYPE]: { schema: { type: 'array', items: { $ref: getSchemaPath(type) } } },
        [NDJSON_TYPE]: { schema: describeLines(type) },
      },
    }),
  );
}

/** Describes a text with one value of this class per line, which JSON Schema cannot express. */
export function describeLines(type: Type): { type: 'string'; description: string } {
  const name = getSchemaPath(type).split('/').at(-1);
  return { type: 'string', description: `One ${name} as JSON per line, each ended by a line feed` };
}

/**
 * Sets the `Link` to the next page of the same query, with its parameters always in the same order.
 *
 * @param after the cursor at the end of this page; undefined for the last page
 */
export function setNextLink(response: Response, after: string | undefined): void {
  if (after === undefined) return;
  const { path, query, state } = response.req;
  const { limit } = query as unknown as PageQueryDto;
  const others = [...(state.sentQuery ?? [])].filter(
    ([name]) => name !== 'limit' && name !== 'after',
  );
  const parameters = [['limit', String(limit)], ['after', after], ...others].map(
    ([name = '', value = '']) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  const target = `${addPathPrefix(response.app, path)}?${parameters.join('&')}`;
  addDefaultHeaders(response, 'Link', `<${target}>; rel="next"`);
}

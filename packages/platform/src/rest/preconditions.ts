import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { decorateHandler } from '../requests/request-binding.js';

/** An entity tag (RFC 9110 section 8.8.3), with the separators before and after it. */
const LISTED_TAG = /[ \t,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,[ \t,]*|$)/gy;

/** The end of a tag to which a proxy has added the name of its compression. */
const COMPRESSION = /-(?:gzip|br|zstd)"$/;

/** Any tag, or the tags of a list. The list is empty if the header cannot be parsed. */
type Condition = '*' | readonly string[];

/**
 * The preconditions of a request: `If-Match` and `If-None-Match`. {@link Preconditions.check} makes
 * the check that `replace()` and `remove()` of a repository accept, and throws ApiError 41200 for a
 * row that breaks them.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-13.1 RFC 9110 section 13.1}
 * @example
 * ```ts
 * async function remove(id: bigint, preconditions: Preconditions): Promise<boolean> {
 *   return await plants.remove(id, preconditions.check(({ name, tag }) => makeEtag(name, tag)));
 * }
 * ```
 */
export class Preconditions {
  private readonly ifMatch: Condition | undefined;
  private readonly ifNoneMatch: Condition | undefined;

  constructor(headers: Readonly<Record<string, unknown>>) {
    this.ifMatch = parse(headers['if-match']);
    this.ifNoneMatch = parse(headers['if-none-match']);
  }

  /**
   * Whether a GET must be answered with the version that has this strong tag, rather than with 304.
   *
   * @throws ApiError 41200
   */
  isModified(etag: string): boolean {
    assertParsed('If-Match', this.ifMatch);
    const { ifMatch = '*', ifNoneMatch = [] } = this;
    if (!matches(ifMatch, etag)) throw failed(explainMismatch(ifMatch, etag));
    // A weak tag counts here. A header that cannot be parsed matches no tag, so the client gets the
    // whole answer.
    return !matches(ifNoneMatch, etag) && !matches(ifNoneMatch, `W/${etag}`);
  }

  /**
   * Makes the check of a stored row before a change; undefined if the conditions hold for every
   * row. The check throws ApiError 41200.
   */
  check<Row>(getEtag: (row: Row) => string): ((row: Row) => void) | undefined {
    if ((this.ifMatch ?? '*') === '*' && this.ifNoneMatch === undefined) return undefined;
    return (row) => {
      const isModified = this.isModified(getEtag(row));
      assertParsed('If-None-Match', this.ifNoneMatch);
      if (!isModified) throw failed('If-None-Match has the current ETag');
    };
  }
}

/** Documents the headers of preconditions. */
export function ApiPreconditions(): MethodDecorator {
  const header = (name: string, description: string, example: string): MethodDecorator =>
    ApiHeader({ name, description, example, required: false });
  // Decorators are applied from the last to the first.
  return applyDecorators(
    header(
      'If-Match',
      'Only if one of these is the current `ETag`; `*` for any. Otherwise 412',
      '*',
    ),
    header(
      'If-None-Match',
      'Only if none of these is the current `ETag`; `*` for any. Otherwise 304 to a GET, and 412 to a change',
      '"other"',
    ),
  );
}

/**
 * Passes a handler the {@link Preconditions} of the request, and documents their headers.
 *
 * @example
 * ```ts
 * @Delete(':id')
 * @ApiNoContent('The plant was removed')
 * remove(
 *   @Param() { id }: IdDto,
 *   @RequestPreconditions() preconditions: Preconditions,
 * ): Promise<void> {
 *   return this.plants.remove(id, preconditions);
 * }
 * ```
 */
export const RequestPreconditions = createParamDecorator(
  (_: unknown, context: ExecutionContext) =>
    new Preconditions(context.switchToHttp().getRequest<Request>().headers),
  [(target, method) => decorateHandler(ApiPreconditions(), target, method)],
);

function parse(header: unknown): Condition | undefined {
  if (typeof header !== 'string') return undefined;
  if (header.trim() === '*') return '*';
  const tags = [...header.matchAll(LISTED_TAG)];
  const parsedLength = tags.reduce((length, [text]) => length + text.length, 0);
  return parsedLength === header.length ? tags.map(([, tag = '']) => tag) : [];
}

/** An unparsable condition must fail, not be ignored. */
function assertParsed(name: string, condition: Condition | undefined): void {
  if (condition?.length !== 0) return;
  throw failed(`${name} must be * or a list of entity tags, each in double quotes`);
}

function explainMismatch(ifMatch: Condition, etag: string): string {
  if (ifMatch !== '*' && ifMatch.some((tag) => isOfCompression(tag, etag))) {
    return 'If-Match has an ETag that is weak, or ends in -gzip, -br or -zstd. A proxy that compresses answers changes ETags like this: send it without W/ and without this ending';
  }
  return 'If-Match does not have the current ETag';
}

/** A tag of the service may end like this by chance, but then it is not longer than the current one. */
function isOfCompression(tag: string, etag: string): boolean {
  const hasEnding = COMPRESSION.test(tag) && tag.length > etag.length;
  return tag.startsWith('W/') || hasEnding;
}

function failed(message: string): ApiError {
  return new ApiError(ErrorCatalogue.PRECONDITION_FAILED, message);
}

/** The strong comparison of RFC 9110 section 8.8.3.2 with a strong tag. */
function matches(condition: Condition, etag: string): boolean {
  return condition === '*' || condition.includes(etag);
}

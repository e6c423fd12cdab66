import { applyDecorators, StreamableFile } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import type { Response } from 'express';
import { takeTurn } from '../limits/request-limits.js';
import { endTurn } from '../limits/request-turns.js';
import { BodyByRule, ConvertResult, decorateHandler } from '../requests/request-binding.js';
import { GeneratedAnswer } from '../server/send-stream.js';
import { ApiRepresentationResponses, convertRepresentation, type Representation } from './etag.js';

const BINARY = { type: 'string', format: 'binary' } as const;

/**
 * Bytes that are read only when they are to be sent. An answer whose bytes have another length than
 * `length` fails.
 *
 * @example
 * ```ts
 * const photo: StoredBytes = {
 *   type: 'image/png',
 *   length: 68,
 *   read: () => readFile('data/photo.png'),
 * };
 * ```
 */
export interface StoredBytes {
  /** The media type. */
  readonly type: string;
  readonly length: number;
  /** Must resolve with the bytes for which the ETag was made, or reject. */
  readonly read: () => Promise<Buffer>;
}

type Bytes = Buffer | StreamableFile | StoredBytes;

/**
 * Passes a handler the body as a Buffer, and documents it. The body is read after the token was
 * checked. A client gets 41500 for another media type, 41300 for a longer body, and 40001 for an
 * empty one.
 *
 * @param mediaTypes the media types that are accepted, such as `image/png`
 * @param limit how many bytes a body may have, all of which are in memory at once
 * @example
 * ```ts
 * @Put('photo')
 * @ApiNoContent('The variety has this photo')
 * replace(
 *   @Param('id') id: number,
 *   @RawBody(['image/jpeg', 'image/png'], 5 * 1024 * 1024) photo: Buffer,
 * ): Promise<void> {
 *   return this.photos.replace(id, photo);
 * }
 * ```
 */
export function RawBody(mediaTypes: readonly string[], limit: number): ParameterDecorator {
  const schema = { ...BINARY, maxLength: limit, description: `At most ${limit} bytes` };
  return (target, method, index) => {
    BodyByRule({ kind: 'bytes', mediaTypes, limit })(target, method, index);
    decorateHandler(ApiBody({ required: true, schema }), target, method);
  };
}

/**
 * Answers with bytes and their ETag, or with 304 if the client has the current version. The handler
 * returns a {@link Representation} whose body is a Buffer, a `StreamableFile` with a media type and
 * a length of its own, or {@link StoredBytes}. Large bytes must be stored ones: many downloads at a
 * time take turns, by their lengths, before they are read.
 *
 * @param mediaTypes the media types of the answer; a Buffer is sent with the first one
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-13.1 RFC 9110 section 13.1}
 * @example
 * ```ts
 * @Get('photo')
 * @ApiBytes(['image/jpeg', 'image/png'], 'The photo')
 * read(@Param('id') id: number): Promise<Representation<StoredBytes>> {
 *   return this.photos.read(id);
 * }
 * ```
 */
export function ApiBytes(
  mediaTypes: readonly [string, ...string[]],
  description: string,
): MethodDecorator {
  const convert = (result: Representation<Bytes>, response: Response): unknown => {
    let body: Bytes | undefined;
    try {
      body = convertRepresentation(result, response);
    } finally {
      // The file of an answer without a body stays open otherwise.
      if (body === undefined && result.body instanceof StreamableFile) {
        result.body.getStream().destroy();
      }
    }
    if (body === undefined || body instanceof StreamableFile) return body;
    if (!Buffer.isBuffer(body)) return new GeneratedAnswer(readInTurn(body, response), body);
    response.type(mediaTypes[0]);
    return body;
  };
  const content = Object.fromEntries(mediaTypes.map((type) => [type, { schema: BINARY }]));
  return applyDecorators(
    ConvertResult(convert),
    ApiRepresentationResponses({ description, content }),
  );
}

/**
 * Reads bytes once there is memory for them. The turn ends when the client has taken them, and soon
 * also if it takes them slowly: what it has not taken then counts as memory of the client.
 */
async function* readInTurn(
  { length, read }: StoredBytes,
  response: Response,
): AsyncGenerator<Buffer> {
  if (response.req.method === 'HEAD') return;
  await takeTurn(response, 'downloads', 0, length);
  const timer = setTimeout(() => endTurn(response), response.req.state.limits.waitMs);
  try {
    const bytes = await read();
    if (bytes.length !== length)
      throw new RangeError(`The bytes are ${bytes.length}, not ${length}`);
    yield bytes;
  } finally {
    clearTimeout(timer);
    endTurn(response);
  }
}

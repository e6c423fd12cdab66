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
 * Bytes that are read only when they are to be sent. The answer fails if `read` resolves with more or
 * fewer bytes than `length`.
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
  /** The number of bytes. */
  readonly length: number;
  /**
   * Resolves with the bytes for which the ETag was made. If they have changed since, it must reject.
   */
  readonly read: () => Promise<Buffer>;
}

type Bytes = Buffer | StreamableFile | StoredBytes;

/**
 * Passes the body of a request to a handler as a Buffer, and documents the body. It is read only
 * after the token was checked. A client gets 41500 for another media type, 41300 for a longer body,
 * and 40001 for an empty one.
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
 * a length of its own, or {@link StoredBytes}. Return large bytes as `StoredBytes`: downloads take
 * turns by their lengths before the bytes are read, which bounds the memory of all downloads.
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
      // The answer is 304, or 412, which is thrown.
      if (body === undefined) closeFile(result.body);
    }
    if (body === undefined || body instanceof StreamableFile) return body;
    if (Buffer.isBuffer(body)) {
      response.type(mediaTypes[0]);
      return body;
    }
    const { type, length } = body;
    return new GeneratedAnswer(readInTurn(body, response), { type, length });
  };
  const content = Object.fromEntries(mediaTypes.map((type) => [type, { schema: BINARY }]));
  return applyDecorators(
    ConvertResult(convert),
    ApiRepresentationResponses({ description, content }),
  );
}

/** Closes the file of a body that is not sent, since it would stay open otherwise. */
function closeFile(body: Bytes): void {
  if (body instanceof StreamableFile) body.getStream().destroy();
}

/**
 * Reads bytes in a turn, which bounds the memory of all downloads. The turn ends when the client has
 * taken the bytes, or after `waitMs`. From then on, only `CLIENT_MEMORY` bounds the unsent bytes.
 */
async function* readInTurn(
  { length, read }: StoredBytes,
  response: Response,
): AsyncGenerator<Buffer> {
  // The answer to HEAD has only the length.
  if (response.req.method === 'HEAD') return;
  const requestBytes = 0;
  await takeTurn(response, 'downloads', requestBytes, length);
  const timer = setTimeout(() => endTurn(response), response.req.state.limits.waitMs);
  try {
    const bytes = await read();
    // sendStream() notices missing bytes only after the headers. Here the client still gets an error.
    if (bytes.length !== length) {
      throw new RangeError(`The bytes are ${bytes.length}, not ${length}`);
    }
    yield bytes;
  } finally {
    clearTimeout(timer);
    endTurn(response);
  }
}

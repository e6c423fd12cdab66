import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { ConvertResult } from '../requests/convert-result.js';
import { TextStream } from '../server/send-stream.js';

/**
 * Answers with text that is generated while it is sent, such as a CSV file. The handler returns an
 * `AsyncIterable<string>`, whose pieces are requested only as fast as the client reads. An error
 * before the first piece is answered like any other. A later error closes the connection, so that a
 * truncated answer never looks complete.
 *
 * @param mediaType the media type of the answer, such as `text/csv; charset=utf-8`
 */
export function ApiStream(mediaType: string, description: string): MethodDecorator {
  const convert = (pieces: AsyncIterable<string>): TextStream => new TextStream(mediaType, pieces);
  return applyDecorators(
    ConvertResult(convert),
    ApiOkResponse({ description, content: { [mediaType]: { schema: { type: 'string' } } } }),
  );
}

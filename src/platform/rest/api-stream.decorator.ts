import { applyDecorators, type NestInterceptor, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { map } from 'rxjs';
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
  // Without an interceptor, Nest would send the iterable in its own way.
  const interceptor: NestInterceptor<AsyncIterable<string>> = {
    intercept: (_, next) => next.handle().pipe(map((pieces) => new TextStream(mediaType, pieces))),
  };
  return applyDecorators(
    UseInterceptors(interceptor),
    ApiOkResponse({ description, content: { [mediaType]: { schema: { type: 'string' } } } }),
  );
}

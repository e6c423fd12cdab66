import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  StreamableFile,
} from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type BodyRule, RAW_BODY } from '../requests/body-reader.js';
import { ConvertResult } from '../requests/request-binding.guard.js';
import { ApiRepresentationResponses, convertRepresentation, type Representation } from './etag.js';

const BINARY = { type: 'string', format: 'binary' } as const;

const InjectBody = createParamDecorator(
  (_: unknown, context: ExecutionContext): unknown =>
    context.switchToHttp().getRequest<Request>().body,
);

/**
 * Passes a handler the body as a Buffer, and documents it. The body is read after the token was
 * checked. Clients get 41500 for another media type, 41300 for a longer body, and 40001 for an
 * empty one.
 *
 * @param mediaTypes the media types that are accepted, such as `image/png`
 * @param limit how many bytes a body may have
 */
export function RawBody(mediaTypes: readonly string[], limit: number): ParameterDecorator {
  return (target, method, index) => {
    const handler = method && Object.getOwnPropertyDescriptor(target, method);
    if (!handler) throw new TypeError('@RawBody() is for parameters of handlers');
    const rule: BodyRule = { mediaTypes, limit, isText: false };
    Reflect.defineMetadata(RAW_BODY, rule, target, method);
    InjectBody()(target, method, index);
    const schema = { ...BINARY, description: `At most ${limit} bytes` };
    ApiConsumes(...mediaTypes)(target, method, handler);
    ApiBody({ required: true, schema })(target, method, handler);
  };
}

/**
 * Answers with bytes and their ETag, or with 304 if the client has the current version. The handler
 * returns a {@link Representation} whose body is a Buffer, or a `StreamableFile` with a media type
 * and a length of its own.
 *
 * @param mediaTypes the media types of the answer; that of a Buffer is the first
 */
export function ApiBytes(
  mediaTypes: readonly [string, ...string[]],
  description: string,
): MethodDecorator {
  const convert = (
    result: Representation<Buffer | StreamableFile>,
    request: Request,
    response: Response,
  ): unknown => {
    let body: Buffer | StreamableFile | undefined;
    try {
      body = convertRepresentation(result, request, response);
    } finally {
      // The file of an answer without a body stays open otherwise.
      if (body === undefined && result.body instanceof StreamableFile) {
        result.body.getStream().destroy();
      }
    }
    if (Buffer.isBuffer(body)) response.type(mediaTypes[0]);
    return body;
  };
  const content = Object.fromEntries(mediaTypes.map((type) => [type, { schema: BINARY }]));
  return applyDecorators(
    ConvertResult(convert),
    ApiRepresentationResponses({ description, content }),
  );
}

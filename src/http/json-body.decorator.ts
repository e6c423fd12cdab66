import { createParamDecorator, type ExecutionContext, type Type } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { getMetadataStorage } from 'class-validator';
import type { Request, Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { readJsonText } from './body-reader.js';
import {
  JsonSyntaxError,
  type Member,
  NotAnObjectError,
  readMembers,
} from '../json/json-members.js';

interface Body {
  readonly dto: Type<object>;
  readonly members: readonly Member[];
}

/**
 * The JSON body of the request as an instance of the parameter's class, for the validation pipe
 * to check. It is read here, after the guards, so that nobody without a token makes the server
 * read a body. Only the members that have a validation rule are taken over; numbers of a member
 * declared `bigint` are exact int64, all others are doubles.
 *
 * @throws ApiError 40001, 40002, 41300, 41500
 */
export function JsonBody(): ParameterDecorator {
  return (controller, method, index) => {
    if (method === undefined)
      throw new TypeError('@JsonBody() belongs on a method of a controller');
    const types = Reflect.getMetadata('design:paramtypes', controller, method) as Type<object>[];
    const dto = types[index];
    if (dto === undefined) throw new TypeError('@JsonBody() needs a class as its type');
    readBody({ dto, members: membersOf(dto) })(controller, method, index);
    const descriptor = Object.getOwnPropertyDescriptor(controller, method);
    if (descriptor) ApiBody({ type: dto, required: true })(controller, method, descriptor);
  };
}

const readBody = createParamDecorator(
  async ({ dto, members }: Body, context: ExecutionContext): Promise<object> => {
    const http = context.switchToHttp();
    const text = await readJsonText(http.getRequest<Request>(), http.getResponse<Response>());
    const values = parse(text, members);
    const body = new dto() as Record<string, unknown>;
    members.forEach(({ name }, index) => {
      if (values[index] !== undefined) body[name] = values[index];
    });
    return body;
  },
);

function membersOf(dto: Type<object>): Member[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
  return [...new Set(rules.map((rule) => rule.propertyName))].map((name) => ({
    name,
    number:
      Reflect.getMetadata('design:type', dto.prototype as object, name) === BigInt
        ? 'int64'
        : 'double',
  }));
}

function parse(text: string, members: readonly Member[]): unknown[] {
  try {
    return readMembers(text, members);
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, error.message);
    }
    if (error instanceof NotAnObjectError) {
      throw new ApiError(ErrorCatalogue.INVALID_BODY, 'The body must be a JSON object');
    }
    throw error;
  }
}

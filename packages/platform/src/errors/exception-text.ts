import type { HttpException } from '@nestjs/common';
import { ValidationError } from 'class-validator';
import { listErrorTexts } from './error-texts.js';
import { joinFaults } from './faults.js';

/** Reads the text that the author of an exception gave it; undefined if it has none for clients. */
export function readExceptionText(exception: HttpException): string | undefined {
  const { cause } = exception;
  const response = exception.getResponse();
  // Nest wraps errors of Express and its middleware, whose messages may contain internals.
  const isOfExpress = cause instanceof Error && ('expose' in cause || cause instanceof SyntaxError);
  if (isOfExpress || response instanceof Error) return undefined;
  const message: unknown =
    typeof response === 'string' ? response : Reflect.get(response, 'message');
  if (typeof message === 'string') return message;
  return typeof message === 'object' && message !== null
    ? joinFaults(listTexts(message))
    : undefined;
}

/** Lists the texts of a message that is a list or an object, as that of `errorFormat: 'grouped'` is. */
function listTexts(message: unknown): string[] {
  if (message instanceof ValidationError) return listErrorTexts([message]);
  if (typeof message !== 'object' || message === null) return [String(message)];
  return Object.values(message).flatMap(listTexts);
}

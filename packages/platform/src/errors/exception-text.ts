import type { HttpException } from '@nestjs/common';
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
  if (Array.isArray(message)) return joinFaults(message.map(String));
  return typeof message === 'string' ? message : undefined;
}

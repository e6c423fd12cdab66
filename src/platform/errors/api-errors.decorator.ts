import { ApiExtension } from '@nestjs/swagger';
import type { ErrorEntry } from './error-catalogue.js';

/**
 * Documents the errors of an operation's own. Errors about the token, the parameters or the body of
 * a request are documented without it.
 */
export function ApiErrors(...entries: ErrorEntry[]): MethodDecorator {
  return ApiExtension('x-errors', entries);
}

import { ApiExtension } from '@nestjs/swagger';
import type { ErrorEntry } from './error-catalogue.js';

/**
 * Documents the failures that are an operation's own. Those of the request itself, its token, its
 * parameters and its body are documented without it.
 */
export function ApiErrors(...entries: ErrorEntry[]): MethodDecorator {
  return ApiExtension('x-errors', entries);
}

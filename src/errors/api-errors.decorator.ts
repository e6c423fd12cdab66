import { ApiExtension } from '@nestjs/swagger';
import type { ErrorCatalogue } from './error-catalogue.js';

/**
 * Documents the failures that are a route's own. Those of the request itself, its token and its
 * body are documented without it.
 */
export function ApiErrors(...names: (keyof typeof ErrorCatalogue)[]): MethodDecorator {
  return ApiExtension('x-errors', names);
}

import { type ArgumentsHost, Catch, type ExceptionFilter, NotFoundException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, Request, Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { methodNotAllowed } from '../errors/method-not-allowed.js';
import { ErrorFilter } from './error.filter.js';

/**
 * Nest answers 404 to whatever no route takes. This tells apart a path that cannot be decoded, a
 * known path with another method (405 and `Allow`, RFC 9110 section 15.5.6) and an unknown path,
 * and answers OPTIONS on a known path.
 */
@Catch(NotFoundException)
export class RouteNotFoundFilter implements ExceptionFilter {
  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly errors: ErrorFilter,
  ) {}

  catch(_: NotFoundException, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const { router } = this.adapterHost.httpAdapter.getInstance<Express>();
    const methods = allowedMethods(router.stack, request.path);
    if (methods.length > 0 && request.method === 'OPTIONS') {
      const response = host.switchToHttp().getResponse<Response>();
      response.writeHead(204, { Allow: methods.join(', ') }).end();
      return;
    }
    this.errors.catch(routeNotFoundError(request, methods), host);
  }
}

function routeNotFoundError({ method, path }: Request, methods: string[]): ApiError {
  if (!isDecodable(path)) {
    return new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be decoded');
  }
  // A route that takes the method has thrown this itself.
  if (methods.length === 0 || methods.includes(method))
    return new ApiError(ErrorCatalogue.NOT_FOUND);
  return methodNotAllowed(methods.join(', '));
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

type Layers = Express['router']['stack'];

/** The methods of all routes on a path, in the order of an `Allow` header; none for an unknown path. */
function allowedMethods(layers: Layers, path: string): string[] {
  const methods = layers
    .filter((layer) => layer.route !== undefined && matches(layer, path))
    .flatMap((layer) => layer.route?.stack.map(({ method }) => method.toUpperCase()) ?? []);
  if (methods.length === 0) return [];
  const implied = methods.includes('GET') ? ['HEAD', 'OPTIONS'] : ['OPTIONS'];
  return [...new Set([...methods, ...implied])].sort();
}

function matches(layer: Layers[number], path: string): boolean {
  try {
    return Boolean((layer as unknown as { match: (path: string) => unknown }).match(path));
  } catch {
    return false;
  }
}

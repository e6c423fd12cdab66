import { type ArgumentsHost, Catch, type ExceptionFilter, NotFoundException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, Request, Response } from 'express';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { ApiError, methodNotAllowed } from '../errors/api-error.js';
import { listAllowedMethods } from './route-matching.js';
import { ErrorFilter } from './error.filter.js';

/**
 * Answers requests for which no route matches: 400 for a path that cannot be decoded, 405 with
 * `Allow` for another method of a known path (RFC 9110 section 15.5.6), 204 for OPTIONS on a known
 * path, and 404 for an unknown path. A 404 that a handler throws is an error like any other.
 */
@Catch(NotFoundException)
export class UnmatchedRouteFilter implements ExceptionFilter {
  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly errors: ErrorFilter,
  ) {}

  catch(exception: NotFoundException, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const express = this.adapterHost.httpAdapter.getInstance<Express>();
    const methods = listAllowedMethods(express, request.path);
    if (request.route !== undefined && methods.includes(request.method)) {
      this.errors.catch(exception, host);
      return;
    }
    if (methods.length > 0 && request.method === 'OPTIONS') {
      const response = host.switchToHttp().getResponse<Response>();
      response.writeHead(204, { Allow: methods.join(', ') }).end();
      return;
    }
    this.errors.catch(createUnmatchedRouteError(request, methods), host);
  }
}

function createUnmatchedRouteError({ method, path }: Request, methods: string[]): ApiError {
  if (!isDecodable(path)) {
    return new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be decoded');
  }
  // A middleware before the routes may have thrown the 404.
  if (methods.length === 0 || methods.includes(method)) {
    return new ApiError(ErrorCatalogue.NOT_FOUND);
  }
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

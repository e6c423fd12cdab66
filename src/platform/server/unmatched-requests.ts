import type { Express, Request, Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';

/**
 * Answers requests for which no route matches: 405 with `Allow` for another method of a known path
 * (RFC 9110 section 15.5.6), 204 for OPTIONS on a known path, 400 for a path that cannot be
 * decoded, and 404 for an unknown path. Must be called after all routes are added.
 */
export function answerUnmatched(app: Express): void {
  const methods = new Map<string, Set<string>>();
  for (const { route } of app.router.stack) {
    if (route === undefined) continue;
    const known = methods.get(route.path) ?? new Set(['OPTIONS']);
    for (const { method } of route.stack) known.add(method.toUpperCase());
    if (known.has('GET')) known.add('HEAD');
    methods.set(route.path, known);
  }
  for (const [path, known] of methods) {
    const allow = [...known].sort().join(', ');
    app.router.all(path, (req: Request, res: Response) => {
      const headers = { Allow: allow };
      if (req.method !== 'OPTIONS') {
        const message = `This path takes ${allow}`;
        throw new ApiError(ErrorCatalogue.METHOD_NOT_ALLOWED, message, headers);
      }
      res.writeHead(204, headers).end();
    });
  }
  app.use(({ path }: Request) => {
    try {
      decodeURIComponent(path);
    } catch {
      throw new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be decoded');
    }
    throw new ApiError(ErrorCatalogue.NOT_FOUND);
  });
}

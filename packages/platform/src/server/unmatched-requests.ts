import type { Express, Request, Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { addPathPrefix } from './path-prefix.js';

/**
 * Answers requests for which no route matches: 405 with `Allow` for another method of a known path
 * (RFC 9110 section 15.5.6), 204 for OPTIONS on a known path or on the whole service (`*`), 400 for a
 * path that cannot be decoded, and 404 for an unknown path. Must be called after all routes are added.
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
        // Its handler has passed the request on, such as for a version that there is not.
        if (known.has(req.method)) throw new ApiError(ErrorCatalogue.NOT_FOUND);
        const message = `This path takes ${allow}`;
        throw new ApiError(ErrorCatalogue.METHOD_NOT_ALLOWED, message, headers);
      }
      res.writeHead(204, headers).end();
    });
  }
  // Express takes it from NODE_ENV.
  const hint = app.get('env') === 'development' ? `. There are ${listPaths(app, methods)}` : '';
  app.use(({ path, method }: Request, res: Response) => {
    if (method === 'OPTIONS' && path === '*') {
      res.writeHead(204).end();
      return;
    }
    try {
      decodeURIComponent(path);
    } catch {
      throw new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be decoded');
    }
    const { message } = ErrorCatalogue.NOT_FOUND;
    throw new ApiError(ErrorCatalogue.NOT_FOUND, `${message}${hint}`);
  });
}

/** Lists the paths except for the files of the documentation, with their parameters in braces. */
function listPaths(app: Express, methods: ReadonlyMap<string, unknown>): string {
  const shown = [...methods.keys()].filter((path) => !path.startsWith('/docs/'));
  return shown
    .map((path) => addPathPrefix(app, path.replaceAll(/:(\w+)/g, '{$1}')))
    .sort()
    .join(', ');
}

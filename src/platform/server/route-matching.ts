import { NotFoundException } from '@nestjs/common';
import type { Express, RequestHandler } from 'express';

// This file depends on an internal of Express's router: `match()`, which its types leave out. The
// tests of 405 in test/server/http.e2e-spec.ts fail if an upgrade changes it.

type Layer = Express['router']['stack'][number];

/** The methods of fixed paths, which are routes without parameters. */
const fixedPaths = new WeakMap<Express, ReadonlyMap<string, readonly string[]>>();

/**
 * Matches fixed paths before patterns: `/plants/import` never matches `/plants/:id`, whatever the
 * method.
 */
export const matchFixedPathsFirst: RequestHandler = (req, _, next) => {
  const methods = listFixedPaths(req.app as Express).get(req.path);
  const method = req.method === 'HEAD' ? 'GET' : req.method;
  next(methods?.includes(method) === false ? new NotFoundException() : undefined);
};

function listFixedPaths(app: Express): ReadonlyMap<string, readonly string[]> {
  const known = fixedPaths.get(app);
  if (known !== undefined) return known;
  const paths = new Map<string, string[]>();
  for (const layer of app.router.stack) {
    const path = layer.route?.path;
    if (path === undefined || /[:*{]/.test(path)) continue;
    paths.set(path, [...(paths.get(path) ?? []), ...listMethods(layer)]);
  }
  fixedPaths.set(app, paths);
  return paths;
}

function listMethods({ route }: Layer): string[] {
  return route?.stack.map(({ method }) => method.toUpperCase()) ?? [];
}

/** Lists the methods of all routes on a path for an `Allow` header; none for an unknown path. */
export function listAllowedMethods(app: Express, path: string): string[] {
  const methods =
    listFixedPaths(app).get(path) ??
    app.router.stack
      .filter((layer) => layer.route !== undefined && matches(layer, path))
      .flatMap(listMethods);
  if (methods.length === 0) return [];
  const implied = methods.includes('GET') ? ['HEAD', 'OPTIONS'] : ['OPTIONS'];
  return [...new Set([...methods, ...implied])].sort();
}

function matches(layer: Layer, path: string): boolean {
  try {
    return Boolean((layer as unknown as { match: (path: string) => unknown }).match(path));
  } catch {
    return false;
  }
}

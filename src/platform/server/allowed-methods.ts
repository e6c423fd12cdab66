import type { Express } from 'express';

// This file depends on an internal of Express's router: its types leave out `match()`. The tests of
// 405 in test/http.e2e-spec.ts fail when an upgrade changes it.

type Layer = Express['router']['stack'][number];

/** Lists the methods of all routes on a path for an `Allow` header; none for an unknown path. */
export function listAllowedMethods({ router }: Express, path: string): string[] {
  const methods = router.stack
    .filter((layer) => layer.route !== undefined && matches(layer, path))
    .flatMap((layer) => layer.route?.stack.map(({ method }) => method.toUpperCase()) ?? []);
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

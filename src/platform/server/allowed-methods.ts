import type { Express } from 'express';

// Depends on the inside of Express's router: its types leave out `match()`. The tests of 405 in
// test/http.e2e-spec.ts fail when an upgrade changes it.

type Layer = Express['router']['stack'][number];

/** The methods of all routes on a path, as an `Allow` header lists them; none for an unknown path. */
export function allowedMethods({ router }: Express, path: string): string[] {
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

import type { Application } from 'express';

/** The setting of Express with the path prefix that a proxy in front removes from each request. */
export const PATH_PREFIX = 'path prefix';

/** Returns the path that clients of the proxy use for a path of the service. */
export function addPathPrefix(app: Application, path: string): string {
  return `${app.get(PATH_PREFIX) as string}${path}`;
}

import type { Application } from 'express';

/** The setting of Express with the path prefix that a proxy in front removes from each request. */
export const PREFIX_KEY = 'path prefix';

/** Returns the path that clients of the proxy use for a path of the service. */
export function addPathPrefix(app: Application, path: string): string {
  return `${app.get(PREFIX_KEY) as string}${path}`;
}

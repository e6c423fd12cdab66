import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ModulesContainer } from '@nestjs/core';
import type { Express } from 'express';
import { isPublic } from '../../src/platform/auth/auth.decorators.js';
import { TestApp } from '../support/test-app.js';

interface Route {
  readonly method: string;
  readonly path: string;
}

/** The pages that no controller serves. */
const PAGES = /^\/(docs|openapi\.json)(\/|$)/;

/** Operations that need a token, and are for operators rather than for clients. */
const OPERATIONS = ['GET /metrics'];

let app: TestApp;
let routes: Route[];

beforeAll(async () => {
  app = await TestApp.start();
  routes = listRoutes(app.nest.getHttpAdapter().getInstance());
});

afterAll(() => app.close());

function listRoutes({ router }: Express): Route[] {
  return router.stack.flatMap(({ route }) =>
    route === undefined
      ? []
      : route.stack
          // Those without a method answer 405.
          .filter(({ method }: { method?: string }) => method !== undefined)
          .map(({ method }) => ({ method: method.toUpperCase(), path: route.path })),
  );
}

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

/** As the OpenAPI document writes it: a parameter stands in braces. */
function toDocumentedName({ method, path }: Route): string {
  return nameOf({ method, path: path.replaceAll(/:(\w+)/g, '{$1}') });
}

/** The routes of the controllers that are `@Public()`. */
function publicRoutes(): string[] {
  const controllers = [...app.nest.get(ModulesContainer).values()].flatMap((module) =>
    [...module.controllers.values()].map(({ metatype }) => metatype as new () => object),
  );
  return controllers.flatMap((controller) => {
    const prototype = controller.prototype as Record<string, object>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = prototype[name];
      if (handler === undefined || !isPublic(handler, controller)) return [];
      const path: unknown = Reflect.getMetadata('path', handler);
      if (typeof path !== 'string') return [];
      const prefix = String(Reflect.getMetadata('path', controller));
      return [`/${prefix}/${path}`.replaceAll(/\/+/g, '/').replace(/(.)\/$/, '$1')];
    });
  });
}

describe('routes', () => {
  it('every route requires a token, unless it is @Public() or a page of the documentation', async () => {
    const open = publicRoutes();
    expect(open).toContain('/');
    expect(routes.map(nameOf)).toContain('POST /plants');
    for (const { method, path } of routes) {
      const { status } = await app.request(
        method,
        path.replace(/\*.*$/, 'x').replaceAll(/:\w+/g, 'x'),
      );
      const isOpen = open.includes(path) || PAGES.test(path);
      expect([method, path, status === 401]).toEqual([method, path, !isOpen]);
    }
  });

  it('every route for clients that requires a token is in the OpenAPI document, and no unknown one is', async () => {
    const { body } = await app.request('GET', '/openapi.json');
    const { paths } = body as { paths: Record<string, Record<string, object>> };
    const documented = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => nameOf({ method: method.toUpperCase(), path })),
    );
    const open = publicRoutes();
    const closed = routes.filter(({ path }) => !open.includes(path) && !PAGES.test(path));
    // A module may document its public operations.
    const ofPublic = routes.filter(({ path }) => open.includes(path)).map(toDocumentedName);
    const others = documented.filter((name) => !ofPublic.includes(name));
    expect([...others, ...OPERATIONS].sort()).toEqual(closed.map(toDocumentedName).sort());
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApp } from '../support/test-app.js';

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({ CORS_ORIGINS: 'https://shop.test, http://localhost:8080' });
});

afterAll(() => app.close());

describe('a page of an origin', () => {
  const preflight = { 'Access-Control-Request-Method': 'POST' };

  it.each(['https://shop.test', 'http://localhost:8080'])(
    'that is configured, %s, may create plants and read errors',
    async (origin) => {
      const asked = await app.request('OPTIONS', '/plants', {
        headers: { Origin: origin, ...preflight },
      });
      expect(asked.status).toBe(204);
      expect(Object.fromEntries(asked.headers)).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET,HEAD,POST,PUT,PATCH,DELETE',
        'access-control-allow-headers':
          'Authorization,Content-Type,If-Match,If-None-Match,X-Request-Id',
        allow: 'GET, HEAD, OPTIONS, POST',
      });
      const answer = await app.create('{}', { Origin: origin });
      expect(answer.status).toBe(400);
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
      expect(answer.headers.get('access-control-expose-headers')?.split(',')).toEqual([
        ...['Accept-Patch', 'ETag', 'Link', 'Location', 'RateLimit', 'RateLimit-Policy'],
        ...['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
      ]);
    },
  );

  it.each(['https://evil.test', 'http://shop.test', 'null'])(
    'that is not, %s, is given no access',
    async (origin) => {
      const answer = await app.request('OPTIONS', '/plants', {
        headers: { Origin: origin, ...preflight },
      });
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    },
  );
});

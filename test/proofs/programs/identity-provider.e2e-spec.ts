import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Provider } from 'oidc-provider';
import { expectError } from '../../support/expect-error.js';
import { TestApp } from '../../support/test-app.js';

const AUDIENCE = 'https://plants.example';
const SECRET = 'the-secret-of-the-gardener';

let server: Server;
let issuer: string;
let app: TestApp;

beforeAll(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = (await startProvider(issuer)).callback();
  server.on('request', (req, res) => void answer(req, res));
  app = await TestApp.start({
    AUTH_JWKS_URL: `${issuer}/jwks`,
    AUTH_ISSUER: issuer,
    AUTH_AUDIENCE: AUDIENCE,
    AUTH_SCOPE: 'plants:write',
  });
});

afterAll(async () => {
  await app.close();
  server.closeAllConnections();
  server.close();
  jest.restoreAllMocks();
});

async function startProvider(url: string): Promise<Provider> {
  // The provider warns of features for development, which this test uses.
  jest.spyOn(console, 'warn').mockReturnValue();
  jest.spyOn(console, 'info').mockReturnValue();
  const provider = await import('oidc-provider');
  return new provider.Provider(url, {
    clients: [
      {
        client_id: 'gardener',
        client_secret: SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['plants:write', 'plants:read'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          audience: resource,
          scope: 'plants:read plants:write',
          accessTokenFormat: 'jwt',
        }),
      },
    },
  });
}

/** An access token by client credentials (RFC 6749 section 4.4) for a resource (RFC 8707). */
async function obtainToken(scope: string, resource = AUDIENCE): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(`gardener:${SECRET}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource }),
  });
  const body = (await response.json()) as { access_token: string };
  expect(body).toMatchObject({ access_token: expect.any(String), token_type: 'Bearer' });
  return body.access_token;
}

describe('a client credentials token of a certified OpenID provider', () => {
  it('creates a plant', async () => {
    const Authorization = `Bearer ${await obtainToken('plants:write')}`;
    expect(await app.create('{"id":1,"name":"Monstera"}', { Authorization })).toMatchObject({
      status: 200,
      body: { name: 'Monstera' },
    });
  });

  it('gets 40300 without the scope', async () => {
    const Authorization = `Bearer ${await obtainToken('plants:read')}`;
    expectError(await app.create('{"id":2,"name":"n"}', { Authorization }), 'INSUFFICIENT_SCOPE');
  });

  it('gets 40101 for another audience', async () => {
    const Authorization = `Bearer ${await obtainToken('plants:write', 'https://other.example')}`;
    expectError(await app.create('{"id":3,"name":"n"}', { Authorization }), 'TOKEN_REFUSED');
  });
});

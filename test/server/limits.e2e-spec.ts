import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import {
  type Answer,
  expectError,
  holdTimeouts,
  passSeconds,
  passTimeouts,
  resetClocks,
  setClockBy,
  stopClock,
  TOKEN,
  until,
} from 'durable-rest/testing';
import { TestApp } from '../support/fixture-app.js';
import { isHandlerAwaited, takeHandlerTurns } from '../support/limits.js';
import { TokenIssuer } from '../support/token-issuer.js';

const OTHER_TOKEN = 'another-token-of-another-client';
const OFF = { RATE_LIMIT: 'off', AUTH_FAILURE_LIMIT: 'off', TRUST_PROXY: '' };

const issuer = await TokenIssuer.start();
let app: TestApp;
let lastId = 0;

afterEach(async () => {
  resetClocks();
  issuer.instead = undefined;
  await app.close();
});
afterAll(() => issuer.stop());

async function start(env: Record<string, string>): Promise<void> {
  const ACCESS_TOKENS = `${TOKEN},${OTHER_TOKEN}`;
  app = await TestApp.start({ ...OFF, ...issuer.env, ACCESS_TOKENS, ...env });
  // Otherwise a busy machine could reach a time limit.
  stopClock();
}

async function createWith(token: string, forwardedFor?: string): Promise<Answer> {
  return await app.create(`{"id":${String(++lastId)},"name":"n"}`, {
    Authorization: `Bearer ${token}`,
    ...(forwardedFor !== undefined && { 'X-Forwarded-For': forwardedFor }),
  });
}

/** The statuses of requests that follow each other. */
async function listStatuses(count: number, token: string): Promise<number[]> {
  const statuses = [];
  for (let round = 0; round < count; round++) statuses.push((await createWith(token)).status);
  return statuses;
}

describe('STORE_TIMEOUT_MS', () => {
  it('is how long a request waits for its turn', async () => {
    await start({ STORE_TIMEOUT_MS: '1000' });
    const giveBack = takeHandlerTurns(app);
    holdTimeouts();
    const answer = createWith(TOKEN);
    await until(() => isHandlerAwaited(app));
    passTimeouts(999);
    expect(isHandlerAwaited(app)).toBe(true);
    passTimeouts(1);
    expectError(await answer, 'UNAVAILABLE');
    giveBack();
  });
});

describe('RATE_LIMIT', () => {
  it('answers so many requests of a token, and 42900 until its time is over', async () => {
    await start({ RATE_LIMIT: '3/60' });
    const { headers } = await createWith(TOKEN);
    expect(headers.get('ratelimit')).toMatch(/^"requests"; r=2; t=(60|59)$/);
    expect(headers.get('ratelimit-policy')).toMatch(/^"requests"; q=3; w=60; pk=:[\w+/=]+:$/);
    expect(await listStatuses(3, TOKEN)).toEqual([200, 200, 429]);
    // An administrator may set the clock.
    setClockBy(-3_600);
    const answer = await createWith(TOKEN);
    expectError(answer, 'TOO_MANY_REQUESTS');
    const retryAfter = Number(answer.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(50);
    expect(retryAfter).toBeLessThanOrEqual(60);
    passSeconds(61);
    expect(await listStatuses(4, TOKEN)).toEqual([200, 200, 200, 429]);
  });

  it('counts each client for itself, and requests without a good token by address', async () => {
    await start({ RATE_LIMIT: '2/60' });
    const jwt = await issuer.token();
    expect(await listStatuses(3, 'wrong')).toEqual([401, 401, 429]);
    expect(await listStatuses(1, 'made-up')).toEqual([429]);
    expect(await listStatuses(3, TOKEN)).toEqual([200, 200, 429]);
    expect(await listStatuses(3, OTHER_TOKEN)).toEqual([200, 200, 429]);
    expect(await listStatuses(3, jwt)).toEqual([200, 200, 429]);
    // However many tokens a client of the provider gets.
    expect(await listStatuses(1, await issuer.token())).toEqual([429]);
    const clients = [{ client_id: 'a' }, { azp: 'b' }, { sub: 'c' }, { azp: 'b', sub: 'c' }];
    for (const claims of clients) {
      const statuses = [
        ...(await listStatuses(2, await issuer.token(claims))),
        ...(await listStatuses(1, await issuer.token(claims))),
      ];
      expect([claims, ...statuses]).toEqual([claims, 200, 200, 429]);
    }
  });

  it('neither counts nor refuses requests that need no token', async () => {
    await start({ RATE_LIMIT: '1/60' });
    expect(await listStatuses(2, 'wrong')).toEqual([401, 429]);
    for (const [path, status] of [
      ['/', 302],
      ['/docs', 200],
      ['/nothing', 404],
    ] as const) {
      expect([path, (await app.request('GET', path)).status]).toEqual([path, status]);
    }
    expect(await listStatuses(2, TOKEN)).toEqual([200, 429]);
  });
});

describe('AUTH_FAILURE_LIMIT', () => {
  it('lets good tokens through that are known, and verifies no more of others', async () => {
    await start({ AUTH_FAILURE_LIMIT: '2/60' });
    const [seen, unseen] = [await issuer.token(), await issuer.token()];
    expect(await listStatuses(1, seen)).toEqual([200]);
    expect(await listStatuses(3, await issuer.token({ aud: 'other' }))).toEqual([401, 401, 429]);
    expectError(await app.request('POST', '/plants'), 'TOO_MANY_REQUESTS');
    expect(await listStatuses(1, unseen)).toEqual([429]);
    expect(await listStatuses(3, seen)).toEqual([200, 200, 200]);
    expect(await listStatuses(3, TOKEN)).toEqual([200, 200, 200]);
    passSeconds(61);
    expect(await listStatuses(3, 'wrong')).toEqual([401, 401, 429]);
  });

  it('counts no good token, and no outage of the provider', async () => {
    await start({ AUTH_FAILURE_LIMIT: '1/60' });
    issuer.instead = (_, res) => res.destroy();
    expect(await listStatuses(3, await issuer.token())).toEqual([503, 503, 503]);
    expect(await listStatuses(3, TOKEN)).toEqual([200, 200, 200]);
    expect(await listStatuses(2, 'wrong')).toEqual([401, 429]);
  });
});

/** Clients that reach the program through proxies, with their statuses. */
const THROUGH_PROXIES = {
  '198.51.100.9, 192.0.2.1, 10.1.2.3': 401,
  '198.51.100.8, 192.0.2.1, 10.1.2.4': 429,
  '192.0.2.77, 10.1.2.3': 401,
};

/** Addresses as proxies write them. Those of one network of IPv6 are one client. */
const ADDRESSES = {
  '192.0.2.1': 401,
  '::ffff:192.0.2.1': 429,
  '192.0.2.1:50123': 429,
  '2001:db8::1': 401,
  '2001:db8:0:ff:ffff::2': 429,
  '2001:db8:0:100::1': 401,
  'fe80::1%eth0.10': 401,
  '[fe80::1]:50123': 429,
  '::1.2.3.4': 401,
  unknown: 401,
  [`${'x'.repeat(64)}a`]: 401,
  [`${'x'.repeat(64)}b`]: 429,
};

it.each<[string, string, Record<string, number>]>([
  ['1', 'the last', { '192.0.2.1': 401, '192.0.2.2': 401, '192.0.2.9, 192.0.2.1': 429 }],
  ['1', 'of any form', ADDRESSES],
  ['2', 'the last but one', THROUGH_PROXIES],
  ['loopback, 10.0.0.0/8', 'the last that is no proxy', THROUGH_PROXIES],
  ['10.0.0.0/8', 'none, since it comes from elsewhere', { '192.0.2.1': 401, '192.0.2.2': 429 }],
  ['', 'none', { '192.0.2.1': 401, '192.0.2.2': 429 }],
])('TRUST_PROXY=%s takes an address of X-Forwarded-For: %s', async (TRUST_PROXY, _, clients) => {
  await start({ AUTH_FAILURE_LIMIT: '1/60', TRUST_PROXY });
  const statuses: Record<string, number> = {};
  for (const client of Object.keys(clients)) {
    statuses[client] = (await createWith('wrong', client)).status;
  }
  expect(statuses).toEqual(clients);
});

import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { passSeconds, resetClocks } from '../../../test/support/clock.js';
import { heapUsed } from '../../../test/support/heap-used.js';
import { AUDIENCE, ISSUER, TokenIssuer } from '../../../test/support/token-issuer.js';
import { digestToken } from './access-tokens.js';
import { isJwtLike, JwtTokens } from './jwt-tokens.js';

const CLIENT = { name: '192.0.2.1', address: '192.0.2.1' };
const HEADER = Buffer.from('{"alg":"ES256","kid":"a"}').toString('base64url');

beforeAll(() => {
  Logger.overrideLogger(false);
});

afterEach(resetClocks);

function acceptTokensOf(provider: TokenIssuer): JwtTokens {
  const jwksUrl = new URL(provider.env.AUTH_JWKS_URL ?? '');
  return new JwtTokens({ jwksUrl, issuer: ISSUER, audience: AUDIENCE, scopes: ['plants'] });
}

describe('isJwtLike', () => {
  it.each([
    ['YQ.YQ.YQ', true],
    ['YQ.YQ.YR', false],
    ['YQ.YQ.', false],
    ['YQ.YQ', false],
    ['opaque', false],
    [`YQ.${'Y'.repeat(8_192)}.YQ`, false],
  ])('%.20s: %s', (token, isLike) => {
    expect(isJwtLike(token)).toBe(isLike);
  });
});

describe('cached tokens', () => {
  it('are remembered up to 10000, and then the first of them is forgotten', async () => {
    const provider = await TokenIssuer.start();
    const jwts = acceptTokensOf(provider);
    const { cached } = jwts as unknown as { cached: Map<string, object> };
    for (let index = 0; index < 10_000; index++) cached.set(String(index), {});
    const token = await provider.token();
    await jwts.verify(digestToken(token), token, CLIENT);
    expect(jwts.getCached(digestToken(token))).toBeDefined();
    expect(cached.size).toBe(10_000);
    expect(cached.has('0')).toBe(false);
    await provider.stop();
  });

  it.each([
    [
      'scopes',
      { scope: Array.from({ length: 1_700 }, (_, index) => index.toString(36)).join(' ') },
    ],
    ['names', { client_id: 'c'.repeat(2_700), sub: 's'.repeat(2_700) }],
    ['user names', { sub: 's'.repeat(5_400) }],
  ])('take up no more memory for long %s', async (_, claims) => {
    const provider = await TokenIssuer.start();
    const jwts = acceptTokensOf(provider);
    const verifyMany = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++) {
        const token = await provider.token(claims);
        await expect(jwts.verify(digestToken(token), token, CLIENT)).resolves.toBeInstanceOf(
          Object,
        );
      }
    };
    await verifyMany(50);
    const before = heapUsed();
    await verifyMany(300);
    expect(heapUsed() - before).toBeLessThan(300 * 2_500);
    await provider.stop();
  });
});

describe('tokens that wait for the keys of a provider', () => {
  it('are at most 1000: the client with most loses the first', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const jwksUrl = new URL(`http://127.0.0.1:${port}`);
    const jwts = new JwtTokens({ jwksUrl, issuer: 'i', audience: 'a', scopes: [] });
    const verify = (index: number, client = CLIENT): Promise<unknown> => {
      const token = `${HEADER}.${Buffer.from(String(index)).toString('base64url')}.AA`;
      return jwts.verify(digestToken(token), token, client);
    };
    const forged = Array.from({ length: 1_000 }, (_, index) => verify(index));
    const settled = Promise.allSettled(forged);
    await once(server, 'request');
    let isRefused = false;
    const other = verify(1_000, { name: '192.0.2.2', address: '192.0.2.2' });
    void other.catch(() => (isRefused = true));
    await expect(forged[0]).rejects.toMatchObject({ status: 503 });
    expect(isRefused).toBe(false);
    server.closeAllConnections();
    await expect(other).rejects.toMatchObject({ status: 503 });
    expect(new Set((await settled).map(({ status }) => status))).toEqual(new Set(['rejected']));
    server.close();
  });

  it('do not keep those of a known key waiting', async () => {
    const provider = await TokenIssuer.start();
    const jwts = acceptTokensOf(provider);
    const verify = (token: string): Promise<unknown> =>
      jwts.verify(digestToken(token), token, CLIENT);
    await verify(await provider.token());
    provider.instead = () => undefined;
    // Old enough to be fetched anew, first for unknown keys and then for all.
    for (const seconds of [40, 230]) {
      passSeconds(seconds);
      const forged = await provider.token({}, { kid: 'unknown' });
      void verify(forged).catch(() => undefined);
      await expect(verify(await provider.token())).resolves.toMatchObject({});
    }
    await provider.stop();
  });
});

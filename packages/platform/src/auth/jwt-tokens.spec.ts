import { beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { heapUsed } from '../../../../test/support/heap-used.js';
import { TokenIssuer } from '../../../../test/support/token-issuer.js';
import { loadEnv } from '../config/env.js';
import { digestToken } from '../config/setting-formats.js';
import { JwtTokens } from './jwt-tokens.js';

beforeAll(() => {
  Logger.overrideLogger(false);
});

function acceptTokensOf(provider: TokenIssuer): JwtTokens {
  return new JwtTokens(loadEnv(provider.env));
}

describe('cached tokens', () => {
  it('have 8 MiB in all: then the oldest of them is forgotten', async () => {
    const provider = await TokenIssuer.start();
    const jwts = acceptTokensOf(provider);
    const { cached } = jwts as unknown as { cached: Map<string, object> };
    const half = 4 * 1024 * 1024;
    cached.set('oldest', { length: half }).set('other', { length: half });
    Object.assign(jwts, { cachedLength: 2 * half });
    const token = await provider.token();
    await jwts.verify(digestToken(token), token);
    expect(jwts.getCached(digestToken(token))).toBeDefined();
    expect([cached.has('oldest'), cached.has('other')]).toEqual([false, true]);
    expect(jwts).toHaveProperty('cachedLength', half + token.length);
    await provider.stop();
  });

  it('take up little more memory than their tokens', async () => {
    const claims = { client_id: 'c'.repeat(2_700), sub: 's'.repeat(2_700) };
    const provider = await TokenIssuer.start();
    const jwts = acceptTokensOf(provider);
    const verifyMany = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++) {
        const token = await provider.token(claims);
        await expect(jwts.verify(digestToken(token), token)).resolves.toBeInstanceOf(Object);
      }
    };
    await verifyMany(50);
    const before = heapUsed();
    await verifyMany(300);
    expect(heapUsed() - before).toBeLessThan(300 * 10_000);
    await provider.stop();
  });
});

it('only one spelling of a token is verified', async () => {
  const provider = await TokenIssuer.start();
  const jwts = acceptTokensOf(provider);
  const token = await provider.token();
  // The last character of a signature has unused bits, which are zero.
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = digits.charAt(digits.indexOf(token.slice(-1)) + 1);
  const other = token.slice(0, -1) + last;
  const readSignature = (text: string): Buffer =>
    Buffer.from(text.split('.')[2] ?? '', 'base64url');
  expect(readSignature(other)).toEqual(readSignature(token));
  expect([jwts.mayVerify(token), jwts.mayVerify(other)]).toEqual([true, false]);
  await provider.stop();
});

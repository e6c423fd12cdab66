import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { base64url, CompactEncrypt, CompactSign, exportSPKI, type JWK } from 'jose';
import { SignJWT, UnsecuredJWT } from 'jose';
import { generateKeyPairSync } from 'node:crypto';
import {
  type Answer,
  expectError,
  passSeconds,
  resetClocks,
  stopClock,
  TOKEN,
  until,
} from 'durable-rest/testing';
import { READ_AHEAD } from '../../packages/platform/src/limits/request-memory.js';
import { countHeld } from '../support/limits.js';
import { ClientConnection } from '../support/http/connection.js';
import { TestApp } from '../support/fixture-app.js';
import { AUDIENCE, ISSUER, makeKey, TokenIssuer } from '../support/token-issuer.js';

const PUBLISHED_SECRET = 'a-secret-among-the-public-keys-of-a-provider';
/** A key of fewer bits than may sign. */
const SHORT_RSA_KEY = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({
  format: 'jwk',
});
const SCOPES = { AUTH_SCOPE: 'plants:write plants' };
const SCOPE = { scope: 'plants profile plants:write' };

let issuer: TokenIssuer;
const stranger = await makeKey('ES256');
let app: TestApp;
let lastId = 0;

async function start(): Promise<void> {
  issuer = await TokenIssuer.start();
  app = await TestApp.start({ ...SCOPES, ...issuer.env, AUTH_FAILURE_LIMIT: 'off' });
  // Otherwise a busy machine could reach a time limit.
  stopClock();
}

async function stop(): Promise<void> {
  resetClocks();
  await app.close();
  await issuer.stop();
}

async function createWith(token: string): Promise<Answer> {
  return await app.create(`{"id":${String(++lastId)},"name":"n"}`, {
    Authorization: `Bearer ${token}`,
  });
}

async function readStatus(token: string): Promise<number> {
  return (await createWith(token)).status;
}

const seconds = (): number => Math.floor(Date.now() / 1_000);

describe('a JWT of the identity provider', () => {
  beforeAll(start);
  afterAll(stop);

  it.each([
    ['of the type at+jwt', {}, {}],
    ['of the type application/at+jwt', {}, { typ: 'application/at+jwt' }],
    ['of the type JWT', {}, { typ: 'JWT' }],
    ['without a type', {}, { typ: undefined }],
    ['without a key id', {}, { kid: undefined }],
    ['for several audiences', { aud: ['https://other.example', AUDIENCE] }, {}],
    ['valid since now', { nbf: seconds() }, {}],
    ['whose issuer has a clock 4 seconds ahead', { nbf: seconds() + 4 }, {}],
    ['with its scopes in scp', { scope: undefined, scp: 'plants plants:write' }, {}],
    ['with a list of scopes', { scope: undefined, scp: ['plants', 'plants:write'] }, {}],
  ] as const)('%s is accepted', async (_, claims, header) => {
    expect(await readStatus(await issuer.token({ ...SCOPE, ...claims }, header))).toBe(200);
  });

  it.each([
    ['no scope at all', {}],
    ['one of two', { scope: 'plants' }],
    ['another', { scope: 'plants:writer plants' }],
    ['something else than text', { scope: { plants: true }, scp: 7 }],
  ])('with %s gets 40300 and the scopes that are needed', async (_, claims) => {
    const token = await issuer.token(claims);
    const headers = { Authorization: `Bearer ${token}` };
    // The second time it is a token already seen. Reading has no scope of its own here.
    for (const answer of [await createWith(token), await app.get('/plants', headers)]) {
      expectError(answer, 'INSUFFICIENT_SCOPE');
      expect(answer.headers.get('www-authenticate')).toBe(
        'Bearer realm="plant-store", error="insufficient_scope", scope="plants:write plants"',
      );
    }
  });

  it('may be signed with each of these algorithms', async () => {
    const algorithms = [
      ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
      ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
    ];
    const keys = await Promise.all(algorithms.map((algorithm) => makeKey(algorithm)));
    issuer.keys = keys.map(({ jwk }) => jwk);
    passSeconds(60);
    for (const key of keys) {
      const status = await readStatus(await issuer.token(SCOPE, {}, key));
      expect([key.alg, status]).toEqual([key.alg, 200]);
    }
  });
});

/** A part of a token, changed. */
function changed(part: string, change: object): string {
  const value = JSON.parse(new TextDecoder().decode(base64url.decode(part))) as object;
  return base64url.encode(JSON.stringify({ ...value, ...change }));
}

async function signedWithSecret(secret: string, kid: string): Promise<string> {
  const claims = { iss: ISSUER, aud: AUDIENCE, exp: seconds() + 300, ...SCOPE };
  return await new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', kid, typ: 'at+jwt' })
    .sign(new TextEncoder().encode(secret));
}

/** Signed by the provider, with a number that JSON can write and no variable can hold. */
async function withEndlessExpiry(): Promise<string> {
  const claims = JSON.stringify({ iss: ISSUER, aud: AUDIENCE, ...SCOPE, exp: 0 });
  return await new CompactSign(new TextEncoder().encode(claims.replace('"exp":0', '"exp":1e400')))
    .setProtectedHeader({ alg: issuer.key.alg, kid: issuer.key.kid, typ: 'at+jwt' })
    .sign(issuer.key.privateKey);
}

const good = (): Promise<string> => issuer.token(SCOPE);
const withClaims = (claims: object) => () => issuer.token({ ...SCOPE, ...claims });
const withHeader = (header: object) => () => issuer.token(SCOPE, header);
const byStranger = (header: object) => () => issuer.token(SCOPE, header, stranger);
/** The good token with these members in its parts, and this signature. */
const withParts =
  ({ header = {}, payload = {}, signature = '' }) =>
  async () => {
    const [goodHeader = '', goodPayload = '', goodSignature] = (await good()).split('.');
    const parts = [changed(goodHeader, header), changed(goodPayload, payload)];
    return [...parts, signature || goodSignature].join('.');
  };
const alteredBy = (alter: (token: string) => string) => async () => alter(await good());
const SIGNATURE = /\.[^.]*$/;

const FORGERIES: Record<string, () => string | Promise<string>> = {
  'the algorithm none': () =>
    new UnsecuredJWT(SCOPE)
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setExpirationTime('5m')
      .encode(),
  'the algorithm none, and the signature kept': withParts({ header: { alg: 'none' } }),
  'the algorithm None': withParts({ header: { alg: 'None' }, signature: 'AA' }),
  'HMAC with the public key as PEM': async () =>
    signedWithSecret(await exportSPKI(issuer.key.publicKey), issuer.key.kid),
  'HMAC with the public key as JWK': () =>
    signedWithSecret(JSON.stringify(issuer.key.jwk), issuer.key.kid),
  'HMAC with a published secret': () => signedWithSecret(PUBLISHED_SECRET, 'secret'),
  'a key embedded as jwk': byStranger({ jwk: stranger.jwk }),
  'a key embedded as jwk, without a key id': byStranger({ jwk: stranger.jwk, kid: undefined }),
  'a key to be fetched from jku': byStranger({ jku: 'http://127.0.0.1:9/jwks' }),
  'a certificate in x5c': byStranger({ x5c: ['MIIB'] }),
  'another key under a known id': byStranger({}),
  'another key under an unknown id': byStranger({ kid: 'unknown' }),
  'a key id that is a path': byStranger({ kid: '../../../dev/null' }),
  'a key published for encryption': () =>
    issuer.token(SCOPE, { kid: 'encryption' }, { ...stranger, kid: 'encryption' }),
  'another issuer': withClaims({ iss: 'https://evil.example' }),
  'the issuer with a slash': withClaims({ iss: `${ISSUER}/` }),
  'no issuer': withClaims({ iss: undefined }),
  'another audience': withClaims({ aud: 'https://other.example' }),
  'an audience that contains ours': withClaims({ aud: `${AUDIENCE}/more` }),
  'no audience': withClaims({ aud: undefined }),
  'the audience of an ID token': withClaims({ aud: 'client-id', nonce: 'n' }),
  expired: withClaims({ exp: seconds() - 60 }),
  'no expiry': withClaims({ exp: undefined }),
  'an expiry in words': withClaims({ exp: 'tomorrow' }),
  'not yet valid': withClaims({ nbf: seconds() + 600 }),
  'a claim to be bound to a key': withClaims({ cnf: { jkt: 'x' } }),
  'an unknown critical header': withHeader({ crit: ['urn:example:rule'], 'urn:example:rule': 1 }),
  'the type of a logout token': withHeader({ typ: 'logout+jwt' }),
  'the type of a DPoP proof': withHeader({ typ: 'dpop+jwt' }),
  'a type that is no text': withHeader({ typ: 1 }),
  'a compressed payload': withHeader({ zip: 'DEF' }),
  'an expiry beyond every time': withClaims({ exp: 1e300 }),
  'an expiry beyond every number': () => withEndlessExpiry(),
  'a changed payload': withParts({ payload: { sub: 'admin' } }),
  'a changed header': withParts({ header: { cty: 'x' } }),
  'a stripped signature': alteredBy((token) => token.replace(SIGNATURE, '.')),
  'no signature': alteredBy((token) => token.replace(SIGNATURE, '')),
  'half a signature': alteredBy((token) => token.slice(0, -40)),
  'a signature of zeros': withParts({ signature: base64url.encode(new Uint8Array(64)) }),
  'the signature twice': alteredBy((token) => token.replace(SIGNATURE, '$&$&')),
  'padding after the signature': alteredBy((token) => `${token}==`),
  'a payload that is no object': alteredBy((token) =>
    token.replace(/\..*/, `.${base64url.encode('7')}.AA`),
  ),
  'a header that is no JSON': alteredBy((token) => token.replace(/^[^.]*/, 'e30x')),
  encrypted: () =>
    new CompactEncrypt(new TextEncoder().encode('{}'))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(new Uint8Array(32)),
  'longer than 8 KiB': withClaims({ filler: 'x'.repeat(8_000) }),
  'the token twice': alteredBy((token) => `${token},${token}`),
};

describe('a forged JWT gets 40101', () => {
  let failuresBefore: Set<string>;

  /** Reads how often authentication has failed, for each reason. */
  async function readFailures(): Promise<Set<string>> {
    const { text } = await app.get('/metrics');
    return new Set(text.match(/^auth_failures_total.*$/gm));
  }

  beforeAll(async () => {
    await start();
    failuresBefore = await readFailures();
    issuer.keys = [
      issuer.key.jwk,
      { kty: 'oct', kid: 'secret', alg: 'HS256', k: base64url.encode(PUBLISHED_SECRET) },
      { ...stranger.jwk, kid: 'encryption', use: 'enc' },
    ];
  });
  afterAll(stop);

  it('which the good one that all are made from does not', async () => {
    expect(await readStatus(await withParts({})())).toBe(200);
  });

  it.each(Object.entries(FORGERIES))('%s', async (_, forge) => {
    const answer = await createWith(await forge());
    expectError(answer, 'TOKEN_REFUSED', 'The bearer token is not accepted');
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer realm="plant-store", error="invalid_token"',
    );
  });

  it('and is counted for its reason', async () => {
    const changed = [...(await readFailures())].filter((line) => !failuresBefore.has(line));
    const reasons = changed.map((line) => /reason="([\w-]+)"/.exec(line)?.[1]);
    expect(reasons.sort()).toEqual([
      ...['algorithm', 'audience', 'bound-to-key', 'expired', 'issuer', 'malformed'],
      ...['not-yet-valid', 'signature', 'type', 'unknown', 'unknown-key'],
    ]);
  });

  it('and none makes the keys be fetched again so soon', () => {
    expect(issuer.fetches).toBe(1);
  });
});

describe('the keys of the identity provider', () => {
  beforeEach(start);
  afterEach(stop);

  it('are fetched once, however many tokens arrive at first', async () => {
    const tokens = await Promise.all(Array.from({ length: 50 }, good));
    expect(new Set(await Promise.all(tokens.map(readStatus)))).toEqual(new Set([200]));
    expect(issuer.fetches).toBe(1);
  });

  it('are fetched at most twice for 50 unknown key ids', async () => {
    await readStatus(await good());
    passSeconds(40);
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (__, index) => byStranger({ kid: `made-up-${index}` })()),
    );
    expect(new Set(await Promise.all(tokens.map(readStatus)))).toEqual(new Set([401]));
    for (const token of tokens.slice(0, 10)) expect(await readStatus(token)).toBe(401);
    expect(issuer.fetches).toBe(2);
  });

  it('count within a minute when new, and for ten minutes once withdrawn', async () => {
    const old = await good();
    expect(await readStatus(old)).toBe(200);
    issuer.keys = [stranger.jwk].map((jwk) => ({ ...jwk, kid: 'new' }));
    const [late, fresh] = await Promise.all([
      issuer.token({ ...SCOPE, exp: seconds() + 3_600 }),
      issuer.token({ ...SCOPE, exp: seconds() + 3_600 }, { kid: 'new' }, stranger),
    ]);
    passSeconds(60);
    expect(await readStatus(fresh)).toBe(200);
    expect(await readStatus(late)).toBe(401);
    passSeconds(600);
    expect(await readStatus(late)).toBe(401);
    expect(await readStatus(fresh)).toBe(200);
  });

  it('are not needed for a token already seen until it expires', async () => {
    const token = await issuer.token({ ...SCOPE, exp: seconds() + 120 });
    expect(await readStatus(token)).toBe(200);
    issuer.instead = (_, res) => res.writeHead(500).end();
    passSeconds(119);
    expect(await readStatus(token)).toBe(200);
    passSeconds(7);
    expect(await readStatus(token)).toBe(401);
    expect(issuer.fetches).toBe(1);
  });

  it.each<[string, () => void]>([
    ['drops the connection', () => (issuer.instead = (_, res) => res.destroy())],
    ['answers 500', () => (issuer.instead = (_, res) => res.writeHead(500).end('{"keys":[]}'))],
    [
      'leads elsewhere',
      () => (issuer.instead = (_, res) => res.writeHead(302, { Location: '/other' }).end()),
    ],
    ['has no keys', () => (issuer.instead = (_, res) => res.end('{"keys":[]}'))],
    [
      'has a key that is none',
      () => (issuer.keys = [{ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: issuer.key.kid }]),
    ],
  ])('whose provider %s are 503 for its tokens, and nothing to others', async (_, fail) => {
    const token = await good();
    fail();
    for (let round = 0; round < 3; round++) {
      const answer = await createWith(token);
      expectError(answer, 'UNAVAILABLE', expect.stringMatching(/identity provider/));
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect(issuer.fetches).toBeLessThanOrEqual(1);
    expect(await readStatus(TOKEN)).toBe(200);
    expect(await readStatus('no-jwt')).toBe(401);
  });

  it.each<[string, string, (jwk: JWK) => unknown]>([
    ['too short', 'RS256', (jwk) => ({ ...jwk, ...SHORT_RSA_KEY })],
    ['without a modulus', 'RS256', (jwk) => ({ ...jwk, n: '' })],
    ['no point of its curve', 'ES256', (jwk) => ({ ...jwk, y: jwk.x })],
    ['private', 'ES256', (jwk) => ({ ...jwk, d: jwk.x })],
    ['null', 'ES256', () => null],
  ])('that are unusable are skipped: %s', async (_, algorithm, spoil) => {
    const unusable = await makeKey(algorithm, 'unusable');
    const usable = await makeKey(algorithm, 'usable');
    issuer.keys = [spoil(unusable.jwk) as JWK, issuer.key.jwk, usable.jwk];
    expect(await readStatus(await issuer.token(SCOPE, {}, unusable))).toBe(401);
    expect(await readStatus(await issuer.token(SCOPE, {}, usable))).toBe(200);
    expect(await readStatus(await issuer.token(SCOPE, { kid: undefined }, usable))).toBe(200);
  });

  it('are awaited by requests that count as memory of their clients', async () => {
    const token = await good();
    issuer.instead = () => undefined;
    const head = `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n`;
    const fields = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
    const clients = ['first', 'second'].map(() => new ClientConnection(app.port));
    for (const client of clients) await client.write(head + fields);
    await until(() => countHeld(app) > 2 * READ_AHEAD);
    for (const client of clients) client.socket.destroy();
  });

  it('are requested again ten seconds after a failure', async () => {
    issuer.instead = (_, res) => res.destroy();
    const token = await good();
    expect(await readStatus(token)).toBe(503);
    issuer.instead = undefined;
    passSeconds(9);
    expect(await readStatus(token)).toBe(503);
    passSeconds(2);
    expect(await readStatus(token)).toBe(200);
  });

  it('that are known serve while the provider fails, and an unknown key is 503', async () => {
    expect(await readStatus(await good())).toBe(200);
    issuer.instead = (_, res) => res.destroy();
    passSeconds(40);
    const unknown = await byStranger({ kid: 'unknown' })();
    expect([await readStatus(unknown), await readStatus(unknown)]).toEqual([503, 503]);
    expect(await readStatus(await good())).toBe(200);
    expect(issuer.fetches).toBe(2);
  });
});

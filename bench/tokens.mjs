import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { program } from './contestants.mjs';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'https://plants.example';

/**
 * The program with each kind of token, and with a limit that is never reached. The static token of
 * the JWT's length tells what is the length's fault.
 */
export async function tokenVariants() {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256' };
  const jwt = await new SignJWT({ client_id: 'benchmark', scope: 'plants:write' })
    .setProtectedHeader({ alg: 'RS256', kid: 'key', typ: 'at+jwt' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject('benchmark')
    .setExpirationTime('1d')
    .sign(privateKey);
  const provider = {
    AUTH_JWKS_URL: await publish({ keys: [jwk] }),
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
  };
  const long = 'x'.repeat(jwt.length);
  const limit = { RATE_LIMIT: '999999999/60' };
  return [
    program(),
    { ...program('long-token', 'a longer static token', { ACCESS_TOKENS: long }), token: long },
    { ...program('jwt', 'a JWT already seen', { ...provider, ACCESS_TOKENS: '' }), token: jwt },
    program('rate-limit', 'a static token, RATE_LIMIT on', limit),
  ];
}

async function publish(keys) {
  const server = createServer((_, res) => res.end(JSON.stringify(keys)));
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/jwks`;
}

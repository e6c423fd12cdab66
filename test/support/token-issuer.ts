import { exportJWK, generateKeyPair, type GenerateKeyPairResult, type JWK, SignJWT } from 'jose';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export const ISSUER = 'https://issuer.example';
export const AUDIENCE = 'https://plants.example';

export interface SigningKey extends GenerateKeyPairResult {
  readonly alg: string;
  readonly kid: string;
  readonly jwk: JWK;
}

export async function makeKey(alg: string, kid = `${alg}-key`): Promise<SigningKey> {
  const pair = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' };
  return { ...pair, alg, kid, jwk };
}

/** The part of an identity provider that a service sees: its keys, at an address of this machine. */
export class TokenIssuer {
  /** How often the keys were asked for. */
  fetches = 0;
  /** The headers of the last request for them. */
  lastHeaders: IncomingHttpHeaders = {};
  /** Answers in the place of the keys. */
  instead: RequestListener | undefined;

  private constructor(
    private readonly server: Server,
    readonly key: SigningKey,
    /** What is published. */
    public keys: JWK[] = [key.jwk],
  ) {
    server.on('request', (req, res) => {
      this.fetches++;
      this.lastHeaders = req.headers;
      if (this.instead !== undefined) this.instead(req, res);
      else res.end(JSON.stringify({ keys: this.keys }));
    });
  }

  static async start(): Promise<TokenIssuer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TokenIssuer(server, await makeKey('ES256'));
  }

  /** What makes a service accept its tokens. */
  get env(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return {
      AUTH_JWKS_URL: `http://127.0.0.1:${port}/jwks`,
      AUTH_ISSUER: ISSUER,
      AUTH_AUDIENCE: AUDIENCE,
    };
  }

  /** A good access token, but for what is changed; what is undefined is left out. */
  async token(
    claims: object = {},
    header: object = {},
    key: Pick<SigningKey, 'alg' | 'kid' | 'privateKey'> = this.key,
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    const good = { iss: ISSUER, aud: AUDIENCE, sub: 'gardener', iat: now, exp: now + 300 };
    return await new SignJWT({ ...good, jti: randomUUID(), ...claims })
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
      .sign(key.privateKey, { crit: { 'urn:example:rule': true } });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

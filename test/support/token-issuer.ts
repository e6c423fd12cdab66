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

/** An identity provider as the service sees it: its keys, at an address of this machine. */
export class TokenIssuer {
  /** How many times the keys were requested. */
  fetches = 0;
  /** The headers of the last request for them. */
  lastHeaders: IncomingHttpHeaders = {};
  /** Answers instead of the keys. */
  instead: RequestListener | undefined;

  private constructor(
    private readonly server: Server,
    readonly key: SigningKey,
    /** The published keys. */
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

  /** The settings with which a service accepts its tokens. */
  get env(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return {
      AUTH_JWKS_URL: `http://127.0.0.1:${port}/jwks`,
      AUTH_ISSUER: ISSUER,
      AUTH_AUDIENCE: AUDIENCE,
    };
  }

  /** Issues a valid access token with these changes; members that are undefined are left out. */
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

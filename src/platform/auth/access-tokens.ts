import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseDigest } from '../config/setting-formats.js';
import { FULL_ACCESS, type Grant, READ_ACCESS } from './scopes.js';

interface KnownToken {
  readonly digest: Buffer;
  readonly grant: Grant;
}

/** The tokens that the service accepts as they are, kept as SHA-256 digests only. */
export class AccessTokens {
  private readonly tokens: readonly KnownToken[];

  /**
   * @param entries tokens, or `sha256:` and the 64 hexadecimal digits of a token's digest
   * @param readEntries the same, of tokens that may only read
   * @param developmentToken one more, made for this run because no token was configured
   */
  constructor(
    entries: readonly string[],
    readEntries: readonly string[],
    readonly developmentToken?: string,
  ) {
    const all = developmentToken === undefined ? entries : [...entries, developmentToken];
    this.tokens = [
      ...readEntries.map((entry) => ({ digest: digestEntry(entry), grant: READ_ACCESS })),
      ...all.map((entry) => ({ digest: digestEntry(entry), grant: FULL_ACCESS })),
    ];
  }

  /** Accepts one token, of 256 random bits. */
  static forDevelopment(): AccessTokens {
    return new AccessTokens([], [], randomBytes(32).toString('base64url'));
  }

  get count(): number {
    return this.tokens.length;
  }

  /**
   * Finds what a token allows; undefined when it is none of these. Takes the same time whichever
   * token matches, and whether one does.
   */
  find(digest: Buffer): Grant | undefined {
    let found: Grant | undefined;
    for (const token of this.tokens) {
      if (timingSafeEqual(digest, token.digest)) found = token.grant;
    }
    return found;
  }
}

function digestEntry(entry: string): Buffer {
  const digest = parseDigest(entry);
  return digest === undefined ? digestToken(entry) : Buffer.from(digest, 'hex');
}

/** Makes the SHA-256 digest that stands for a token wherever one is kept. */
export function digestToken(token: string): Buffer {
  // Tokens are ASCII (RFC 6750 section 2.1).
  return hash('sha256', token, 'buffer');
}

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseTokenDigest } from '../config/setting-formats.js';
import { FULL_ACCESS, type Grant, READ_ACCESS } from './scopes.js';

interface KnownToken {
  readonly digest: Buffer;
  readonly grant: Grant;
}

/** The tokens that the service accepts as they are, kept as SHA-256 digests only. */
export class AccessTokens {
  private readonly tokens: readonly KnownToken[];

  /**
   * @param entries tokens, or their digests, which may have names: entries of ACCESS_TOKENS
   * @param readEntries the same, of tokens that may only read
   * @param developmentToken one more, for a development start where no token was configured
   */
  constructor(
    entries: readonly string[],
    readEntries: readonly string[],
    readonly developmentToken?: string,
  ) {
    const all = developmentToken === undefined ? entries : [...entries, developmentToken];
    this.tokens = [
      ...readEntries.map((entry) => readEntry(entry, READ_ACCESS)),
      ...all.map((entry) => readEntry(entry, FULL_ACCESS)),
    ];
  }

  /** Accepts one token: the given one, or where that is empty a random one. */
  static forDevelopment(token: string): AccessTokens {
    return new AccessTokens([], [], token || createToken());
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

function readEntry(entry: string, access: Grant): KnownToken {
  const digest = parseTokenDigest(entry);
  if (digest === undefined) return { digest: digestToken(entry), grant: access };
  const { digits, name } = digest;
  const grant = name === undefined ? access : { ...access, caller: { client: name } };
  return { digest: Buffer.from(digits, 'hex'), grant };
}

/** Creates a token of 256 random bits. */
export function createToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Makes the SHA-256 digest that stands for a token wherever one is kept. */
export function digestToken(token: string): Buffer {
  // Tokens are ASCII (RFC 6750 section 2.1).
  return hash('sha256', token, 'buffer');
}

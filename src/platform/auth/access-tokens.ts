import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { digestIn } from '../config/token-entry.js';

/** What one of the service's own tokens allows. */
export type AccessLevel = 'all' | 'read';

interface KnownToken {
  readonly digest: Buffer;
  readonly level: AccessLevel;
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
      ...readEntries.map((entry): KnownToken => ({ digest: digestOfEntry(entry), level: 'read' })),
      ...all.map((entry): KnownToken => ({ digest: digestOfEntry(entry), level: 'all' })),
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
   * What a token allows; undefined when it is none of these. Takes the same time whichever token
   * matches, and whether one does.
   */
  levelOf(digest: Buffer): AccessLevel | undefined {
    let found: AccessLevel | undefined;
    for (const known of this.tokens) {
      if (timingSafeEqual(digest, known.digest)) found = known.level;
    }
    return found;
  }
}

function digestOfEntry(entry: string): Buffer {
  const digest = digestIn(entry);
  return digest === undefined ? digestOf(entry) : Buffer.from(digest, 'hex');
}

/** The SHA-256 digest that stands for a token wherever one is kept. */
export function digestOf(token: string): Buffer {
  // Tokens are ASCII (RFC 6750 section 2.1).
  return hash('sha256', token, 'buffer');
}

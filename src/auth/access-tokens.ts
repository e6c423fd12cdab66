import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { digestIn } from '../config/token-entry.js';

/** The tokens that the service accepts as they are, kept as SHA-256 digests only. */
export class AccessTokens {
  private readonly digests: readonly Buffer[];

  /**
   * @param entries tokens, or `sha256:` and the 64 hexadecimal digits of a token's digest
   * @param developmentToken one more, made for this run because no way in was configured
   */
  constructor(
    entries: readonly string[],
    readonly developmentToken?: string,
  ) {
    const accepted = developmentToken === undefined ? entries : [...entries, developmentToken];
    this.digests = accepted.map((entry) => {
      const digest = digestIn(entry);
      return digest === undefined ? digestOf(entry) : Buffer.from(digest, 'hex');
    });
  }

  /** Accepts one token, of 256 random bits. */
  static forDevelopment(): AccessTokens {
    return new AccessTokens([], randomBytes(32).toString('base64url'));
  }

  get count(): number {
    return this.digests.length;
  }

  /** Takes the same time whichever token matches, and whether one does. */
  accept(digest: Buffer): boolean {
    let accepted = false;
    for (const known of this.digests) {
      if (timingSafeEqual(digest, known)) accepted = true;
    }
    return accepted;
  }
}

/** The SHA-256 digest that stands for a token wherever one is kept. */
export function digestOf(token: string): Buffer {
  // Tokens are ASCII (RFC 6750 section 2.1).
  return hash('sha256', token, 'buffer');
}

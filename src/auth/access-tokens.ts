import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

const DIGEST_PREFIX = 'sha256:';
const DIGEST_ENTRY = /^sha256:[0-9a-f]{64}$/i;
const VISIBLE_ASCII = /^[!-~]+$/;

/** The tokens that the service accepts, kept as SHA-256 digests only. */
export class AccessTokens {
  /** A token of 256 random bits, made for this run because none was configured. */
  readonly developmentToken: string | undefined;
  private readonly digests: readonly Buffer[];

  /** @param entries tokens, or `sha256:` and the 64 hexadecimal digits of a token's digest */
  constructor(entries: readonly string[]) {
    if (entries.length === 0) this.developmentToken = randomBytes(32).toString('base64url');
    const accepted = this.developmentToken === undefined ? entries : [this.developmentToken];
    this.digests = accepted.map((entry) =>
      DIGEST_ENTRY.test(entry)
        ? Buffer.from(entry.slice(DIGEST_PREFIX.length), 'hex')
        : digestOf(entry),
    );
  }

  /** Takes the same time whichever token matches, and whether one does. */
  accept(token: string): boolean {
    const digest = digestOf(token);
    let accepted = false;
    for (const known of this.digests) {
      if (timingSafeEqual(digest, known)) accepted = true;
    }
    return accepted;
  }
}

export function isTokenEntry(entry: string): boolean {
  return entry.toLowerCase().startsWith(DIGEST_PREFIX)
    ? DIGEST_ENTRY.test(entry)
    : VISIBLE_ASCII.test(entry);
}

function digestOf(token: string): Buffer {
  // Tokens are ASCII (RFC 6750 section 2.1).
  return hash('sha256', token, 'buffer');
}

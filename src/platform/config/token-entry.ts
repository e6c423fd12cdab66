export const TOKENS_RULE =
  'must be a comma-separated list of tokens in visible ASCII, or of sha256: and 64 hexadecimal digits';

/** Marks an entry of ACCESS_TOKENS that is the digest of a token and not the token itself. */
const DIGEST_PREFIX = 'sha256:';
const DIGEST_ENTRY = /^sha256:[0-9a-f]{64}$/i;
const VISIBLE_ASCII = /^[!-~]+$/;

/** Whether this is a token, or `sha256:` and the 64 hexadecimal digits of one's digest. */
export function isTokenEntry(entry: string): boolean {
  return entry.toLowerCase().startsWith(DIGEST_PREFIX)
    ? DIGEST_ENTRY.test(entry)
    : VISIBLE_ASCII.test(entry);
}

/** The hexadecimal digits of an entry that is a digest; undefined of one that is a token. */
export function digestIn(entry: string): string | undefined {
  return DIGEST_ENTRY.test(entry) ? entry.slice(DIGEST_PREFIX.length) : undefined;
}

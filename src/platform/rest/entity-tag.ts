import { hash } from 'node:crypto';

/** Long enough that no two values that anybody ever stores have the same: 132 bits. */
const LENGTH = 22;

/**
 * A strong entity tag (RFC 9110 section 8.8.3) made of values alone, so that it is the same wherever
 * they are stored.
 */
export function entityTagOf(...values: readonly (string | null)[]): string {
  return `"${hash('sha256', JSON.stringify(values), 'base64url').slice(0, LENGTH)}"`;
}

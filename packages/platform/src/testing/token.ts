/**
 * The token that every service under test accepts.
 *
 * @example
 * ```ts
 * const headers = { Authorization: `Bearer ${TOKEN}` };
 * ```
 */
export const TOKEN = 'correct-horse-battery-staple';

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/** The one spelling of an integer in a path or a query. */
export const INTEGER = /^(?:0|-?[1-9][0-9]*)$/;

const ZERO = 0x30;
/** Digits of the largest int64. */
const INT64_DIGITS = 19;

/**
 * The value of a JSON number (RFC 8259 section 6) when it is an integer from -2^63 to 2^63 - 1,
 * however it is written: `30e-1` is 3. Anything else is undefined.
 */
export function parseInt64(text: string): bigint | undefined {
  if (text.length < INT64_DIGITS && !/[.eE]/.test(text)) return BigInt(text);
  const value = parseScaled(text, 0, INT64_DIGITS);
  return value !== undefined && value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}

/**
 * The value of a JSON number times 10^scale, when that is an integer of at most so many digits.
 * Takes time linear in the text, and never builds a number of more digits.
 */
export function parseScaled(text: string, scale: number, maxDigits: number): bigint | undefined {
  const negative = text.startsWith('-');
  const [mantissa = '', exponent = '0'] = text.slice(negative ? 1 : 0).split(/[eE]/);
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;

  // The value is significant x 10^power, and significant ends in a digit other than zero.
  let start = 0;
  while (digits.charCodeAt(start) === ZERO) start++;
  if (start === digits.length) return 0n;
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === ZERO) end--;
  const power = Number(exponent) - fraction.length + (digits.length - end) + scale;

  if (power < 0 || end - start + power > maxDigits) return undefined;
  const magnitude = BigInt(digits.slice(start, end) + '0'.repeat(power));
  return negative ? -magnitude : magnitude;
}

/** Whether a value is an int64 in the one spelling that it has in a path or a query, but as a string. */
export function isInt64Text(value: unknown): boolean {
  return typeof value === 'string' && INTEGER.test(value) && parseInt64(value) !== undefined;
}

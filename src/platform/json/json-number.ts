export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/** The canonical spelling of an integer, as in a path or a query. */
export const INTEGER = /^(?:0|-?[1-9][0-9]*)$/;

/** A JSON number without an exponent. */
export const PLAIN_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/** The sign, the digits before and after the point, and the exponent of a JSON number. */
const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const ZERO = 0x30;
/** Digits of the largest int64. */
const INT64_DIGITS = 19;
/** Numbers with so many digits in all differ as doubles too, which are read in half the time. */
const DOUBLE_DIGITS = 15;

/**
 * Parses a JSON number (RFC 8259 section 6) that is an integer from -2^63 to 2^63 - 1, in any
 * spelling: `30e-1` is 3. Undefined for any other number.
 */
export function parseInt64(text: string): bigint | undefined {
  if (text.length < INT64_DIGITS && !/[.eE]/.test(text)) return BigInt(text);
  const value = parseScaled(text, 0, INT64_DIGITS);
  return value !== undefined && value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}

/**
 * Parses a JSON number times 10^scale; undefined unless that is an integer of at most `maxDigits`
 * digits. Takes time linear in the text, and never builds a longer number.
 */
export function parseScaled(text: string, scale: number, maxDigits: number): bigint | undefined {
  if (text.length + scale <= Math.min(maxDigits, DOUBLE_DIGITS) && PLAIN_NUMBER.test(text)) {
    const number = Number(text);
    const factor = 10 ** scale;
    const scaled = Math.round(number * factor);
    return scaled / factor === number ? BigInt(scaled) : undefined;
  }
  const parts = PARTS.exec(text);
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const digits = whole + fraction;

  // The value is significant x 10^power, and significant ends in a digit other than zero.
  let start = 0;
  while (digits.charCodeAt(start) === ZERO) start++;
  if (start === digits.length) return 0n;
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === ZERO) end--;
  const power = Number(exponent) - fraction.length + (digits.length - end) + scale;

  if (power < 0 || end - start + power > maxDigits) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(power));
}

/** Whether a value is a string with an int64 in its canonical spelling. */
export function isInt64Text(value: unknown): boolean {
  return typeof value === 'string' && INTEGER.test(value) && parseInt64(value) !== undefined;
}

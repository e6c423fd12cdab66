export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/**
 * The canonical spelling of an integer, as in a path or a query.
 *
 * @example
 * ```ts
 * INTEGER.test('-7'); // true
 * INTEGER.test('07'); // false
 * ```
 */
export const INTEGER = /^(?:0|-?[1-9][0-9]*)$/;

/**
 * A JSON number without an exponent.
 *
 * @example
 * ```ts
 * PLAIN_NUMBER.test('12.50'); // true
 * PLAIN_NUMBER.test('1e3'); // false
 * ```
 */
export const PLAIN_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/** A JSON number, also one with zeros at its start. */
export const JSON_NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const ZERO = 0x30;
const NINE = 0x39;
const POINT = 0x2e;
/** Digits of the largest int64. */
const INT64_DIGITS = 19;
/** The powers of ten that are exact as doubles. */
const POWERS = Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));

/**
 * Parses a JSON number that is an integer from -2^63 to 2^63 - 1, in any spelling: `30e-1` is 3.
 * Undefined for any other number.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8259#section-6 RFC 8259 section 6}
 * @example
 * ```ts
 * parseInt64('30e-1'); // 3n
 * parseInt64('0.5'); // undefined
 * ```
 */
export function parseInt64(text: string): bigint | undefined {
  const value = parseScaled(text, 0, INT64_DIGITS);
  return value !== undefined && value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}

/**
 * Parses a JSON number times 10^scale; undefined unless that is an integer of at most `maxDigits`
 * digits. Takes time linear in the text, and never builds a longer number.
 *
 * @param scale 0 or more
 * @param maxDigits at most 22
 * @example
 * ```ts
 * parseScaled('12.5', 2, 18); // 1250n
 * parseScaled('12.505', 2, 18); // undefined
 * ```
 */
export function parseScaled(text: string, scale: number, maxDigits: number): bigint | undefined {
  const sign = text.startsWith('-') ? '-' : '';
  // The value is digits x 10^power.
  let digits = 0;
  let power = scale;
  let isFraction = false;
  let end = sign.length;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === POINT) isFraction = true;
    else if (code < ZERO || code > NINE) break;
    else {
      digits = digits * 10 + code - ZERO;
      if (isFraction) power--;
    }
  }
  if (digits === 0) return 0n;
  if (end < text.length) power += Number(text.slice(end + 1));
  if (digits > Number.MAX_SAFE_INTEGER) {
    return parseLong(sign, text.slice(sign.length, end).replace('.', ''), power, maxDigits);
  }
  const factor = POWERS[Math.abs(power)] ?? NaN;
  const scaled = power < 0 ? digits / factor : digits * factor;
  if (!Number.isInteger(scaled) || scaled >= (POWERS[maxDigits] ?? Infinity)) return undefined;
  const isExact = scaled <= Number.MAX_SAFE_INTEGER;
  const value = isExact ? BigInt(scaled) : BigInt(digits) * BigInt(factor);
  return sign === '-' ? -value : value;
}

/** Parses digits x 10^power, of which at least one digit is not zero. */
function parseLong(
  sign: string,
  digits: string,
  power: number,
  maxDigits: number,
): bigint | undefined {
  let start = 0;
  while (digits.charCodeAt(start) === ZERO) start++;
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === ZERO) end--;
  const zeros = power + digits.length - end;
  if (zeros < 0 || end - start + zeros > maxDigits) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros));
}

/**
 * Whether a value is a string with an int64 in its canonical spelling.
 *
 * @example
 * ```ts
 * isInt64Text('9223372036854775807'); // true
 * isInt64Text('9223372036854775808'); // false
 * ```
 */
export function isInt64Text(value: unknown): boolean {
  return typeof value === 'string' && INTEGER.test(value) && parseInt64(value) !== undefined;
}

import { JSON_NUMBER, parseScaled } from './json-number.js';

/**
 * An exact decimal number with a fixed number of digits after the point, such as a price. It does
 * no arithmetic: calculate with `unscaled`, a bigint.
 *
 * @example
 * ```ts
 * const price = new Decimal(1250n, 2);
 * String(price); // 12.50
 * new Decimal(price.unscaled * 3n, price.scale).compare(price) > 0; // true
 * ```
 */
export class Decimal {
  /**
   * @param unscaled the number without its point: 1250 means 12.50 with a scale of 2
   * @param scale how many digits follow the point
   */
  constructor(
    readonly unscaled: bigint,
    readonly scale: number,
  ) {}

  /**
   * Parses a JSON number that fits decimal(precision, scale) without rounding. It may be written in
   * any way: with a scale of 2, the texts `12.5`, `12.500` and `125e-1` all mean 12.50.
   *
   * @param precision how many digits the number may have, of which `scale` follow the point:
   *   decimal(2, 2) ends at 0.99
   * @returns undefined for any other text
   */
  static parse(text: string, precision: number, scale: number): Decimal | undefined {
    if (!JSON_NUMBER.test(text)) return undefined;
    const maxDigits = precision;
    const unscaled = parseScaled(text, scale, maxDigits);
    return unscaled === undefined ? undefined : new Decimal(unscaled, scale);
  }

  /**
   * The same number with another number of digits after the point.
   *
   * @throws RangeError when the number does not fit decimal(precision, scale) without rounding
   */
  rescale(precision: number, scale: number): Decimal {
    const text = this.toString();
    // Only parse() has the rules of what fits.
    const rescaled = Decimal.parse(text, precision, scale);
    if (rescaled !== undefined) return rescaled;
    throw new RangeError(`${text} does not fit decimal(${precision}, ${scale})`);
  }

  /**
   * Compares two numbers exactly, also of different scales: 12.5 equals 12.50.
   *
   * @returns a negative number if this is less than the other, a positive one if it is greater, and
   *   0 if they are equal
   */
  compare(other: Decimal): number {
    const scale = Math.max(this.scale, other.scale);
    const own = this.toUnscaled(scale);
    const others = other.toUnscaled(scale);
    if (own === others) return 0;
    return own < others ? -1 : 1;
  }

  /** Writes all digits, as in `12.50`. */
  toString(): string {
    const { unscaled, scale } = this;
    if (scale === 0) return String(unscaled);
    const isNegative = unscaled < 0n;
    const sign = isNegative ? '-' : '';
    const magnitude = isNegative ? -unscaled : unscaled;
    // At least one digit is before the point.
    const digits = String(magnitude).padStart(scale + 1, '0');
    return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  }

  /**
   * Makes `JSON.stringify` write a string, since readers of JSON round long numbers. A JSON answer has
   * the number itself: see `writeJson`.
   */
  toJSON(): string {
    return this.toString();
  }

  /** Returns what `unscaled` would be with this scale, which is not smaller. */
  private toUnscaled(scale: number): bigint {
    return this.unscaled * 10n ** BigInt(scale - this.scale);
  }
}

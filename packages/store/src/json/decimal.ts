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
   * Parses a JSON number with at most `scale` digits after the point, and at most `precision`
   * digits in all; undefined for any other text.
   */
  static parse(text: string, precision: number, scale: number): Decimal | undefined {
    const unscaled = JSON_NUMBER.test(text) ? parseScaled(text, scale, precision) : undefined;
    return unscaled === undefined ? undefined : new Decimal(unscaled, scale);
  }

  /**
   * The same number with another number of digits after the point.
   *
   * @throws RangeError when it has more digits after the point, or more than `precision` in all
   */
  rescale(precision: number, scale: number): Decimal {
    const rescaled = Decimal.parse(this.toString(), precision, scale);
    if (rescaled !== undefined) return rescaled;
    throw new RangeError(`${this.toString()} is no decimal(${precision}, ${scale})`);
  }

  /**
   * Compares two numbers exactly, also of different scales: 12.5 equals 12.50.
   *
   * @returns a negative number if this is less than the other, a positive one if it is greater, and
   *   0 if they are equal
   */
  compare(other: Decimal): number {
    const scale = Math.max(this.scale, other.scale);
    const [own, others] = [this, other].map(
      (one) => one.unscaled * 10n ** BigInt(scale - one.scale),
    ) as [bigint, bigint];
    if (own === others) return 0;
    return own < others ? -1 : 1;
  }

  /** Writes all digits, as in `12.50`. In JSON answers they have no quotes. */
  toString(): string {
    const { unscaled, scale } = this;
    const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
    const sign = unscaled < 0n ? '-' : '';
    const point = digits.length - scale;
    return scale === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  }

  toJSON(): string {
    return this.toString();
  }
}

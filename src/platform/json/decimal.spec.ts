import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Decimal } from './decimal.js';

describe('a decimal', () => {
  it('takes another number of digits after the point if none is lost', () => {
    expect(String(new Decimal(1250n, 2).rescale(3, 1))).toBe('12.5');
    expect(String(new Decimal(125n, 1).rescale(4, 2))).toBe('12.50');
    for (const [unscaled, scale] of [
      [12345n, 3],
      [1000n, 1],
    ] as const) {
      expect(() => new Decimal(unscaled, scale).rescale(3, 1)).toThrow(RangeError);
    }
  });

  it('has the spelling from which it is read again', () => {
    const numbers = fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n });
    fc.assert(
      fc.property(numbers, fc.nat(18), (unscaled, scale) => {
        const text = String(new Decimal(unscaled, scale));
        expect(Decimal.parse(text, 18, scale)).toEqual(new Decimal(unscaled, scale));
      }),
    );
  });
});

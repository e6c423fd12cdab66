import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Decimal } from './decimal.js';

describe('a decimal', () => {
  it.each([
    ['12.5', 4, 2, '12.50'],
    ['-0.05', 4, 2, '-0.05'],
    ['1e1', 4, 2, '10.00'],
    ['0.010', 4, 2, '0.01'],
    ['-0', 4, 2, '0.00'],
    ['1e-7', 18, 7, '0.0000001'],
  ])('%s of %i digits with %i after the point is %s', (source, precision, scale, text) => {
    expect(String(Decimal.parse(source, precision, scale))).toBe(text);
  });

  it.each([
    ['100', 4, 2],
    ['0.001', 4, 2],
    ['1e-7', 4, 2],
    ['1e400', 18, 0],
  ])('cannot be %s with %i digits, %i of them after the point', (source, precision, scale) => {
    expect(Decimal.parse(source, precision, scale)).toBeUndefined();
  });

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

import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { INT64_MAX, INT64_MIN, parseInt64, parseScaled } from './json-number.js';

/** The exact value of a JSON number with a small exponent, times 10^scale, by school arithmetic. */
function exact(text: string, scale = 0): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(scale);
  const digits = BigInt(sign + whole + fraction);
  if (power >= 0n) return digits * 10n ** power;
  const divisor = 10n ** -power;
  return digits % divisor === 0n ? digits / divisor : undefined;
}

/** JSON numbers of few or many digits, with many zeros, so that they are often integers. */
const numbers = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9][01]{0,3})(\.[01]{0,2}0{1,3})?([eE][+-]?[0-3]?\d)?$/),
  fc.stringMatching(/^-?(0|[1-9]\d{0,9}0{0,14})(\.\d{0,3}0{1,20})?([eE][+-]?[0-3]?\d)?$/),
);

it('parseInt64 agrees with exact arithmetic on any JSON number', () => {
  fc.assert(
    fc.property(numbers, (text) => {
      const value = exact(text);
      const isInt64 = value !== undefined && value >= INT64_MIN && value <= INT64_MAX;
      expect(parseInt64(text)).toBe(isInt64 ? value : undefined);
    }),
    { numRuns: 2_000 },
  );
});

it('parseScaled agrees with exact arithmetic on any JSON number', () => {
  fc.assert(
    fc.property(numbers, fc.nat(6), fc.integer({ min: 1, max: 18 }), (text, scale, maxDigits) => {
      const value = exact(text, scale);
      const limit = 10n ** BigInt(maxDigits);
      const isInRange = value !== undefined && value > -limit && value < limit;
      expect(parseScaled(text, scale, maxDigits)).toBe(isInRange ? value : undefined);
    }),
    { numRuns: 2_000 },
  );
});

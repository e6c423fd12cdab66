import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { styleArbitrary } from './body.arbitrary.js';
import { Decimal, jsonText, readExactly, spellNumber, spellString, Style } from './json-text.js';

// The fuzzer knows the right answer because it knows what it wrote, so its writer must be right.

/** The exact value of a JSON number, as an integer over a power of ten. */
function toExactValue(text: string): { readonly integer: bigint; readonly power: number } {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  return {
    integer: BigInt(`${sign}${whole}${fraction}`),
    power: Number(exponent) - fraction.length,
  };
}

/** Whether two exact values are the same. */
function isSame(text: string, { isNegative, digits, power }: Decimal): boolean {
  const value = toExactValue(text);
  const integer = BigInt(digits) * (isNegative ? -1n : 1n);
  if (integer === 0n || value.integer === 0n) return integer === value.integer;
  const lower = Math.min(power, value.power);
  const scale = (by: number): bigint => 10n ** BigInt(by - lower);
  return integer * scale(power) === value.integer * scale(value.power);
}

describe('spelling', () => {
  it('writes an integer as JSON, in its exact value', () => {
    const property = fc.property(
      fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
      styleArbitrary,
      (id, style) => {
        const text = spellNumber(Decimal.of(id), new Style(style));
        expect(() => JSON.parse(text) as unknown).not.toThrow();
        expect(isSame(text, Decimal.of(id))).toBe(true);
      },
    );
    fc.assert(property, { seed: 1, numRuns: 1_000 });
  });

  it('writes a number with a fraction in its exact value', () => {
    const decimal = fc
      .tuple(
        fc.boolean(),
        fc.constantFrom('1', '5', '123456789', `1${'0'.repeat(30)}1`),
        fc.integer({ min: -60, max: 60 }),
      )
      .map((parts) => new Decimal(...parts));
    const property = fc.property(decimal, styleArbitrary, (value, style) => {
      expect(isSame(spellNumber(value, new Style(style)), value)).toBe(true);
    });
    fc.assert(property, { seed: 1, numRuns: 1_000 });
  });

  it('writes a text as JSON that means the same text', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit }));
    const property = fc.property(text, styleArbitrary, (value, style) => {
      const spelled = spellString(value, new Style(style));
      expect(JSON.parse(spelled)).toBe(value);
      // UTF-8 cannot carry an unpaired surrogate.
      expect(spelled).not.toMatch(/\p{Cs}/u);
    });
    fc.assert(property, { seed: 1, numRuns: 1_000 });
  });

  it('of a double is read as the same double', () => {
    const double = fc.double({ noNaN: true, noDefaultInfinity: true });
    const property = fc.property(double, styleArbitrary, (value, style) => {
      expect(JSON.parse(jsonText(value, new Style(style))) === value).toBe(true);
    });
    fc.assert(property, { seed: 1, numRuns: 1_000 });
  });

  it('of a whole value has the same value for every style, with all its digits', () => {
    const value = fc.jsonValue({ maxDepth: 2 });
    const property = fc.property(fc.bigInt(), value, styleArbitrary, (integer, other, style) => {
      const content = { integer, other };
      const [plain, styled] = [jsonText(content), jsonText(content, new Style(style))];
      expect(JSON.parse(styled)).toEqual(JSON.parse(plain));
      expect(readExactly(plain)).toMatchObject({ integer: `${integer}n` });
    });
    fc.assert(property, { seed: 1, numRuns: 300 });
  });

  it('is plain when nothing else is chosen', () => {
    expect(jsonText(-1200n)).toBe('-1200');
    expect(jsonText(0n)).toBe('0');
    expect(jsonText('é"\ud800/')).toBe('"é\\"\\ud800/"');
  });
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Choices } from './choices.js';
import { type Decimal, decimalOf, spellNumber, spellString } from './json-spelling.js';

// The fuzzer knows the right answer because it knows what it wrote: so it must write that.

const style = fc.nat(0x7fff_ffff);

/** The exact value of a JSON number, as an integer over a power of ten. */
function valueOf(text: string): { readonly integer: bigint; readonly power: number } {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  return {
    integer: BigInt(`${sign}${whole}${fraction}`),
    power: Number(exponent) - fraction.length,
  };
}

/** Whether two exact values are the same. */
function isSame(text: string, { negative, digits, power }: Decimal): boolean {
  const value = valueOf(text);
  const integer = BigInt(digits) * (negative ? -1n : 1n);
  if (integer === 0n || value.integer === 0n) return integer === value.integer;
  const lower = Math.min(power, value.power);
  const scale = (by: number): bigint => 10n ** BigInt(by - lower);
  return integer * scale(power) === value.integer * scale(value.power);
}

describe('spelling', () => {
  it('writes an integer as JSON, in its exact value', () => {
    const property = fc.property(
      fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
      style,
      (id, n) => {
        const text = spellNumber(decimalOf(id), new Choices(n));
        expect(() => JSON.parse(text) as unknown).not.toThrow();
        expect(isSame(text, decimalOf(id))).toBe(true);
      },
    );
    fc.assert(property, { seed: 1, numRuns: 3_000 });
  });

  it('writes a number with a fraction in its exact value', () => {
    const decimal = fc.record({
      negative: fc.boolean(),
      digits: fc.constantFrom('1', '5', '123456789', `1${'0'.repeat(30)}1`),
      power: fc.integer({ min: -60, max: 60 }),
    });
    const property = fc.property(decimal, style, (value, n) => {
      expect(isSame(spellNumber(value, new Choices(n)), value)).toBe(true);
    });
    fc.assert(property, { seed: 1, numRuns: 3_000 });
  });

  it('writes a text as JSON that means the same text', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit }));
    const property = fc.property(text, style, (value, n) => {
      const spelled = spellString(value, new Choices(n));
      expect(JSON.parse(spelled)).toBe(value);
      // UTF-8 cannot carry an unpaired surrogate.
      expect(spelled).not.toMatch(/\p{Cs}/u);
    });
    fc.assert(property, { seed: 1, numRuns: 3_000 });
  });

  it('is plain when nothing else is chosen', () => {
    expect(spellNumber(decimalOf(-1200n), new Choices(0))).toBe('-1200');
    expect(spellNumber(decimalOf(0n), new Choices(0))).toBe('0');
    expect(spellString('é"\ud800/', new Choices(0))).toBe('"é\\"\\ud800/"');
  });
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DuplicateMemberError, parseExact, stringifyExact } from './exact-json.js';

function canonical(text: string): string {
  return stringifyExact(parseExact(text));
}

describe('exact JSON', () => {
  it.each([
    ['9007199254740993', '9007199254740993'],
    ['1e400', '1e+400'],
    ['-1E-400', '-1e-400'],
    ['1.0', '1'],
    ['1e2', '100'],
    ['100e-2', '1'],
    ['-0', '0'],
    ['0e5', '0'],
    ['0.10', '0.1'],
    ['123456789012345678901', '123456789012345678901'],
    ['1234567890123456789012', '1.234567890123456789012e+21'],
    ['0.000001', '0.000001'],
    ['0.0000001', '1e-7'],
    ['1e99999999999999999999', '1e+99999999999999999999'],
  ])('has the number %s in the one spelling %s', (source, text) => {
    expect(canonical(source)).toBe(text);
    expect(canonical(`{"a":[${source}]}`)).toBe(`{"a":[${text}]}`);
  });

  it('spells a number as JavaScript does where that does not round', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(canonical(JSON.stringify(number))).toBe(JSON.stringify(number));
      }),
    );
  });

  it('has every other value as JSON.stringify has it, with sorted members', () => {
    const sort = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(sort);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, member]) => [`x${name}`, sort(member)]),
      );
    };
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'medium' }), (value) => {
        const sorted = sort(value);
        expect(canonical(JSON.stringify(sorted, null, 2))).toBe(JSON.stringify(sorted));
      }),
    );
  });

  it('refuses an object with a member twice', () => {
    expect(() => parseExact('[{"a":1,"\\u0061":2}]')).toThrow(DuplicateMemberError);
  });
});

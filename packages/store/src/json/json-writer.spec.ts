import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Decimal } from './decimal.js';
import { JsonText } from './json-text.js';
import { writeJson } from './json-writer.js';

/** Any value for JSON.stringify, including those that it omits. */
const values = fc.anything({
  withDate: true,
  withNullPrototype: true,
  withObjectString: false,
  values: [
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\ud800', 'it\'s "quoted"\n', '1', '', undefined, null, NaN, -0, 1e21, true),
    fc.double(),
    fc.constant(() => 1),
    fc.constant(Symbol('none')),
  ],
});

describe('writeJson', () => {
  it('does as JSON.stringify does', () => {
    fc.assert(
      fc.property(values, (value) => {
        const wrapped = { value, list: [value] };
        expect(writeJson(wrapped)).toBe(JSON.stringify(wrapped));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    [{ id: -9223372036854775808n, name: '1' }, '{"id":-9223372036854775808,"name":"1"}'],
    [{ a: { b: [1n, [2n]] } }, '{"a":{"b":[1,[2]]}}'],
    [
      { price: new Decimal(-5n, 2), list: [[new Decimal(0n, 3)]] },
      '{"price":-0.05,"list":[[0.000]]}',
    ],
    [{ a: 1, notes: new JsonText('{"x":1e400}') }, '{"a":1,"notes":{"x":1e400}}'],
    [{ toJSON: () => ({ id: 1n }) }, '{"id":1}'],
    [1n, '1'],
  ])('writes a bigint wherever it is: %#', (value, text) => {
    expect(writeJson(value)).toBe(text);
  });
});

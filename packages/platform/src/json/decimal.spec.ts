import { expect, it } from '@jest/globals';
import { Decimal } from './decimal.js';

it('a decimal takes another number of digits after the point if none is lost', () => {
  expect(String(new Decimal(1250n, 2).rescale(3, 1))).toBe('12.5');
  expect(String(new Decimal(125n, 1).rescale(4, 2))).toBe('12.50');
  expect(() => new Decimal(12345n, 3).rescale(3, 1)).toThrow(RangeError);
  expect(() => new Decimal(1000n, 1).rescale(3, 1)).toThrow(RangeError);
});

it.each(['', '-', '0x1F', '0b11', ' 5 ', '+5', '.5', '5.', 'Infinity', 'NaN', '1e', '1_0'])(
  'the text %j is no decimal',
  (text) => expect(Decimal.parse(text, 12, 2)).toBeUndefined(),
);

import { expect, it } from '@jest/globals';
import { Decimal } from './decimal.js';

it('a decimal takes another number of digits after the point if none is lost', () => {
  expect(String(new Decimal(1250n, 2).rescale(3, 1))).toBe('12.5');
  expect(String(new Decimal(125n, 1).rescale(4, 2))).toBe('12.50');
  const tooFine = new RangeError('12.345 does not fit decimal(3, 1)');
  expect(() => new Decimal(12345n, 3).rescale(3, 1)).toThrow(tooFine);
  const tooLarge = new RangeError('100.0 does not fit decimal(3, 1)');
  expect(() => new Decimal(1000n, 1).rescale(3, 1)).toThrow(tooLarge);
});

it.each([
  ['12.500', 12, 2, '12.50'],
  ['125e-1', 12, 2, '12.50'],
  ['0.99', 2, 2, '0.99'],
  ['-0.05', 12, 2, '-0.05'],
  ['-7', 12, 0, '-7'],
  ['12.505', 12, 2, 'undefined'],
  ['1', 2, 2, 'undefined'],
])('the text %s as decimal(%d, %d) is %s', (text, precision, scale, expected) => {
  expect(String(Decimal.parse(text, precision, scale))).toBe(expected);
});

it.each(['', '-', '0x1F', '0b11', ' 5 ', '+5', '.5', '5.', 'Infinity', 'NaN', '1e', '1_0'])(
  'the text %j is not a decimal',
  (text) => expect(Decimal.parse(text, 12, 2)).toBeUndefined(),
);

it.each([
  ['12.50', '12.5', 0],
  ['0', '0.00', 0],
  ['9.99', '10', -1],
  ['-9.99', '-10', 1],
  ['9007199254740993', '9007199254740992.99', 1],
])('%s compared with %s is %d', (text, other, expected) => {
  const [own, others] = [text, other].map((one) => {
    const scale = one.includes('.') ? one.length - one.indexOf('.') - 1 : 0;
    return Decimal.parse(one, 22, scale) as Decimal;
  }) as [Decimal, Decimal];
  expect(own.compare(others)).toBe(expected);
});

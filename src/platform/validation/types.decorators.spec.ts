import { expect, it } from '@jest/globals';
import { Decimal } from '../json/decimal.js';
import { createDecimalType } from './types.decorators.js';

it.each([
  [18, 0],
  [16, 0],
  [18, 4],
  [3, 1],
])('the bounds of decimal(%i, %i) in the document are those of the service', (precision, scale) => {
  const { schema, isValid, readParameter } = createDecimalType(precision, scale);
  const bound = BigInt(schema.exclusiveMaximum as number);
  expect(schema.exclusiveMinimum).toBe(-Number(bound));
  expect(isValid(readParameter(String(bound)))).toBe(false);
  const greatest = new Decimal(bound * 10n ** BigInt(scale) - 1n, scale);
  expect(readParameter(String(greatest))).toEqual(greatest);
});

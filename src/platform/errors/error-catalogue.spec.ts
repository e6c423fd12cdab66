import { describe, expect, it } from '@jest/globals';
import { listErrors, type CodeBlock, defineErrors, ErrorCatalogue } from './error-catalogue.js';

function define(feature: string, numbers: CodeBlock['numbers'], ...codes: number[]): object {
  const entry = { message: 'm', when: 'w', advice: 'a' };
  const entries = Object.fromEntries(codes.map((error) => [`E${error}`, { ...entry, error }]));
  return defineErrors({ feature, numbers }, entries);
}

describe('defineErrors', () => {
  it('adds the errors of a feature to the catalogue, in the order of their codes', () => {
    const before = listErrors().length;
    define('gardens', [10, 19], 40910, 40410, 40419);
    const codes = listErrors().map(({ error }) => error);
    expect(codes).toEqual(codes.toSorted());
    expect(codes).toHaveLength(before + 3);
  });

  it.each<[string, CodeBlock['numbers'], number, string]>([
    ['beds', [20, 29], 40430, 'The error 40430 of beds is not among 20 to 29'],
    ['beds', [20, 29], 40419, 'The error 40419 of beds is not among 20 to 29'],
    ['beds', [19, 29], 40420, 'The errors of beds take numbers of gardens'],
    ['beds', [5, 10], 40405, 'The errors of beds take numbers of gardens'],
    ['beds', [0, 9], ErrorCatalogue.INVALID_BODY.error, 'The error 40002 is defined twice'],
    ['trees', [30, 39], 20030, 'The error 20030 has no error status'],
    ['seeds', [40, 49], 404_040, 'The error 404040 has no error status'],
  ])('refuses of %s, which takes %j, %i', (feature, numbers, code, reason) => {
    expect(() => define(feature, numbers, code)).toThrow(new TypeError(reason));
  });
});

describe('the shared errors', () => {
  it('have codes whose hundreds are their status', () => {
    for (const { error } of Object.values(ErrorCatalogue)) {
      expect(Number.isInteger(error) && error >= 40_000 && error < 60_000).toBe(true);
    }
  });
});

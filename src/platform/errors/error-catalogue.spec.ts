import { describe, expect, it } from '@jest/globals';
import { defineErrors, type ErrorEntry, getStatus, listErrors } from './error-catalogue.js';

function define(...codes: number[]): object {
  const entries: Record<string, ErrorEntry> = {};
  for (const error of codes) entries[`E${error}`] = { error, message: 'm', advice: 'a' };
  return defineErrors(entries);
}

describe('defineErrors', () => {
  it('adds errors to the catalogue, in the order of their statuses', () => {
    const before = listErrors().length;
    define(409_101, 404_101, 404_999, 40_198);
    const codes = listErrors().map(({ error }) => error);
    expect(codes).toHaveLength(before + 4);
    const statuses = listErrors().map(getStatus);
    expect(statuses).toEqual(statuses.toSorted());
    expect(codes.slice(codes.indexOf(40_400), codes.indexOf(40_500))).toEqual([
      40_400, 404_101, 404_999,
    ]);
  });

  it('refuses a code that is taken', () => {
    expect(() => define(409_101)).toThrow('"m" and "m" have the same code, 409101');
    expect(() => define(40_002)).toThrow('"m" and "The body is not valid" have the same code');
  });

  it.each([200_101, 4_040_001, 404, 404.1])('refuses the code %d', (code) => {
    const reason = `The code ${code} of "m" is not a status from 400 to 599 and three digits`;
    expect(() => define(code)).toThrow(new TypeError(reason));
  });
});

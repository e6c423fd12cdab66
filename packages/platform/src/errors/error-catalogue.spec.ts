import { describe, expect, it } from '@jest/globals';
import { defineErrors, type ErrorEntry } from './error-catalogue.js';

function define(...codes: number[]): object {
  const entries: Record<string, ErrorEntry> = {};
  for (const error of codes) entries[`E${error}`] = { error, message: 'm', advice: 'a' };
  return defineErrors(entries);
}

describe('defineErrors', () => {
  it('refuses a code that is taken', () => {
    define(409_101);
    expect(() => define(409_101)).toThrow('"m" and "m" have the same code, 409101');
    expect(() => define(40_002)).toThrow('"m" and "The body is not valid" have the same code');
  });

  it.each([200_101, 4_040_001, 404, 404.1])('refuses the code %d', (code) => {
    const reason = `The code ${code} of "m" is not a status from 400 to 599 and three digits`;
    expect(() => define(code)).toThrow(new TypeError(reason));
  });
});

import { expect, it } from '@jest/globals';
import { ApiError } from './api-error.js';
import { ErrorCatalogue } from './error-catalogue.js';

it('an error of 500 or more has a stack, which is logged; a refusal has none, since it takes time', () => {
  const { stackTraceLimit } = Error;
  expect(new ApiError(ErrorCatalogue.INTERNAL).stack).toContain('\n    at ');
  expect(new ApiError(ErrorCatalogue.NOT_FOUND).stack).not.toContain('\n    at ');
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
});

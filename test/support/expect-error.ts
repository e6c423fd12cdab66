import { expect } from '@jest/globals';
import {
  ErrorCatalogue,
  type ErrorKind,
  getStatus,
} from '../../src/platform/errors/error-catalogue.js';
import type { Answer } from './test-app.js';

/**
 * Checks that an answer is an error in the Error shape.
 *
 * @param kind an entry of a feature, or the name of a shared one
 */
export function expectError(
  answer: Answer,
  kind: ErrorKind | keyof typeof ErrorCatalogue,
  message: unknown = expect.any(String),
): void {
  const { error } = typeof kind === 'string' ? ErrorCatalogue[kind] : kind;
  expect(answer).toMatchObject({ status: getStatus({ error }) });
  expect(answer.body).toEqual({ error, message });
  expect(answer.headers.get('content-type')).toMatch(/^application\/json(; charset=utf-8)?$/);
}

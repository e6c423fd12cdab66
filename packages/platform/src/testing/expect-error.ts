import { expect } from '@jest/globals';
import { ErrorCatalogue, type ErrorKind, getStatus } from '../errors/error-catalogue.js';
import type { Answer } from './test-application.js';

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
  const { request, status, body, headers } = answer;
  // A failure shows the request beside what differs.
  expect({ request, status, body, type: headers.get('content-type') }).toEqual({
    request,
    status: getStatus({ error }),
    body: { error, message },
    type: expect.stringMatching(/^application\/json(; charset=utf-8)?$/),
  });
}

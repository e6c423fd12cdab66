import { expect } from '@jest/globals';
import { ErrorCatalogue, type ErrorKind, getStatus } from '../errors/error-catalogue.js';
import type { Answer } from './test-application.js';

/**
 * Checks that an answer is an error in the Error shape.
 *
 * @param kind an entry of a feature, or the name of a shared one
 * @param message a text, or a matcher of Jest; any text by default
 * @example
 * ```ts
 * expectError(await app.get('/plants/404'), PlantErrors.PLANT_NOT_FOUND);
 * expectError(await app.post('/plants', '{'), 'UNREADABLE_BODY');
 * ```
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

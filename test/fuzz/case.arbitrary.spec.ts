import { describe, expect, it } from '@jest/globals';
import { ApiDocument, type Collection, type SchemaObject } from './api-document.js';
import { CollectionCases } from './case.arbitrary.js';

const UUID = '00000000-0000-4000-8000-000000000001';
const KNOWN_KEYS = ['9223372036854775807', UUID, 'oak nursery', '7'];

/** Keys of a new thing whose key has two members of this type. */
function makeKeys(schema: SchemaObject): unknown {
  const properties = { a: schema, b: schema };
  const answer = { description: '', content: { 'application/json': { schema: { properties } } } };
  const document = new ApiDocument({
    components: {},
    paths: {
      '/things': {
        post: {
          requestBody: { content: { 'application/json': { schema: { properties } } } },
          responses: { 200: answer },
        },
      },
      '/things/{a}/{b}': { get: { responses: { 200: answer } } },
    },
  });
  KNOWN_KEYS.forEach((key) => document.knownKeys.add(key));
  const [collection] = document.collections as [Collection];
  return new CollectionCases(collection, document).freshKeys(0n).a;
}

describe('a key of several members', () => {
  it.each<[SchemaObject, unknown]>([
    [{ type: 'string' }, 'oak nursery'],
    [{ type: 'string', format: 'uuid' }, UUID],
    [{ type: 'integer', format: 'int64' }, 9_223_372_036_854_775_807n],
    [{ type: 'integer', format: 'int32' }, 7n],
    [{ type: 'string', maxLength: 8 }, '00000000'],
  ])('of %j refers to a stored thing of the same type, where there is one', (schema, key) => {
    expect(makeKeys(schema)).toBe(key);
  });
});

import { expect, it } from '@jest/globals';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { readCursor, writeCursor } from './cursors.js';

const key = (databaseName: string, type: string, ignoresCase = false) => ({
  column: { databaseName, propertyName: databaseName, type } as ColumnMetadata,
  ignoresCase,
});
const id = key('id', 'bigint');
const name = key('name', 'text');

// Clients hold cursors during an upgrade. A cursor has a digest of its list: with other words in
// describeScope() all of them would be invalid.
it.each([
  ['a key', { conditions: [], order: [id], isDescending: false }, ['7'], '7'],
  [
    'a name',
    { conditions: [], order: [name, id], isDescending: false },
    ['rose', '7'],
    'WyJLdFVNVHROaGhLQiIsInJvc2UiLCI3Il0',
  ],
  [
    'a name from the end, ignoring case, with a filter',
    {
      conditions: [{ key: key('tag', 'text'), operator: '=' as const, value: 'indoor' }],
      order: [key('name', 'text', true), id],
      isDescending: true,
    },
    ['rose', '7'],
    'WyIyVE5qZlQ5SDlwbCIsInJvc2UiLCI3Il0',
  ],
])('the cursor of a list by %s stays as it is', (_, scope, end, cursor) => {
  expect(writeCursor(scope, end)).toBe(cursor);
  expect(readCursor(scope, cursor)).toEqual(end);
});

import { expect, it } from '@jest/globals';
import { schema as nursery } from '../../examples/nursery/src/schema.js';
import { schema as service } from '../../src/schema.js';

/** They were added with numbers of the future. Stores know them by their names, so these stay. */
const ADDED_TOO_EARLY = [
  'CreateVarieties1796000000001',
  'CreatePlantings1796000000002',
  'CreatePhotos1796000000003',
  'CreateSales1796000000004',
];

// TypeORM runs migrations in the order of their numbers, and `nest g` takes the time for the next one.
// After a number of the future, the time would come too early.
it.each([
  ['the service', service],
  ['the nursery', nursery],
])('the migrations of %s have numbers of the past', (_, { migrations }) => {
  const ofTheFuture = migrations
    .map(({ name }) => name)
    .filter((name) => Number(name.slice(-13)) > Date.now());
  expect(ofTheFuture.filter((name) => !ADDED_TOO_EARLY.includes(name))).toEqual([]);
});

import { afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { SqliteConnection } from '../../src/platform/database/sqlite/sqlite-connection.js';
import { TestApp } from '../support/test-app.js';

const app = TestApp.forAll();

beforeAll(async () => {
  for (const id of [1, 2, 3]) await app.create(`{"id":${id},"name":"mint","tag":"t"}`);
});
afterEach(() => {
  jest.restoreAllMocks();
});

it.each<[string, string]>([
  ['', 'id>?'],
  ['tag=t', '<expr>=? AND id>?'],
  ['sort=name', '<expr>>?'],
  ['name=mi', '<expr>>? AND <expr><?'],
])(
  'a page of plants is read through an index, and no row is sorted: ?%s',
  async (query, bounds) => {
    const first = await app.get(`/plants?limit=1&${query}`);
    const read = jest.spyOn(SqliteConnection.prototype, 'all');
    expect(await app.get(first.next ?? '')).toMatchObject({ body: [{ id: 2 }] });
    const [sql, values] = read.mock.lastCall ?? ['', []];
    const connection = read.mock.contexts.at(-1) as SqliteConnection;
    const steps = await connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, values);
    const plan = steps.map(({ detail }) => detail);
    expect(plan.join('\n')).toContain(bounds);
    expect(plan.filter((step) => step.startsWith('SCAN plants'))).toEqual([]);
    // The order of the pages that one statement reads is sorted.
    expect(plan.filter((step) => step.includes('TEMP B-TREE'))).toHaveLength(1);
  },
);

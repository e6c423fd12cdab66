import { beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { StoreDataSource } from '../../packages/platform/src/database/data-source/store-data-source.js';
import { TestApp } from '../support/test-app.js';

const app = TestApp.forAll();
/** The steps in which SQLite has read the last page. */
let plan: string[];

beforeAll(async () => {
  for (const id of [1, 2, 3]) await app.create(`{"id":${id},"name":"mint","tag":"t"}`);
  const { pageReaders } = app.nest.get<StoreDataSource>(DataSource).pools;
  const acquire = pageReaders.acquire.bind(pageReaders);
  pageReaders.acquire = async () => {
    const session = await acquire();
    const query = session.query.bind(session);
    session.query = async (statement, parameters) => {
      const explain = { name: 'explain', text: `EXPLAIN QUERY PLAN ${statement.text}` };
      plan = (await query<{ detail: string }>(explain, parameters)).map(({ detail }) => detail);
      return await query(statement, parameters);
    };
    return session;
  };
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
    expect(await app.get(first.next ?? '')).toMatchObject({ body: [{ id: 2 }] });
    expect(plan.join('\n')).toContain(bounds);
    expect(plan.filter((step) => step.startsWith('SCAN plants'))).toEqual([]);
    // The order of the pages that one statement reads is sorted.
    expect(plan.filter((step) => step.includes('TEMP B-TREE'))).toHaveLength(1);
  },
);

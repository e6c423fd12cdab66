import { beforeAll, expect, it } from '@jest/globals';
import { explainPages } from '../support/explain-pages.js';
import { TestApp } from '../support/fixture-app.js';

const app = TestApp.forAll();
/** The steps in which SQLite has read each page. */
let plans: readonly { readonly detail: string }[][];

beforeAll(async () => {
  for (const id of [1, 2, 3]) await app.create(`{"id":${id},"name":"mint","tag":"t"}`);
  plans = explainPages(app, 'EXPLAIN QUERY PLAN');
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
    const plan = (plans.at(-1) ?? []).map(({ detail }) => detail);
    expect(plan.join('\n')).toContain(bounds);
    expect(plan.filter((step) => step.startsWith('SCAN plants'))).toEqual([]);
    // The order of the pages that one statement reads is sorted.
    expect(plan.filter((step) => step.includes('TEMP B-TREE'))).toHaveLength(1);
  },
);

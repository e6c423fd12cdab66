import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ListPlantsDto, PlantsService } from '../fixtures/plants.module.js';
import { explainPages } from '../support/explain-pages.js';
import { TestApp } from '../support/fixture-app.js';

const ROWS = 20_000;
/** The cost from which a server compiles a statement, which takes longer than a page, by default. */
const COMPILED_COST = 100_000;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Total Cost': number;
  readonly Plans?: readonly Plan[];
}

interface PlanRow {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: Plan }];
}

const app = TestApp.forAll();
/** The plans of the statements that have read pages in this test. */
let plans: PlanRow[][];

beforeAll(async () => {
  // Each name has 1,600 bytes, and their order is not that of the rows: so a page by name reads as
  // many blocks as it has rows.
  await app.query(`INSERT INTO plants (id, name, tag)
    SELECT i, (SELECT string_agg(md5(i || ' ' || part), '') FROM generate_series(1, 50) AS part),
      't' || i % 2 FROM generate_series(1, ${ROWS}) AS i`);
  await app.query('ANALYZE plants');
  plans = explainPages(app, 'EXPLAIN (FORMAT JSON)');
});

beforeEach(() => {
  plans.length = 0;
});

function listNodes(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(listNodes)];
}

it.each<[string, string]>([
  ['', 'PK_'],
  ['&sort=name', 'plants_name'],
  ['&tag=t1', 'plants_tag'],
  ['&name=a', 'plants_name'],
])(
  'a page of plants is read through an index, no row is sorted, and nothing is compiled: ?limit=2%s',
  async (query, index) => {
    const first = await app.get(`/plants?limit=2${query}`);
    expect((await app.get(first.next ?? '')).body).toHaveLength(2);
    expect(plans).toHaveLength(2);
    for (const plan of plans.flat().map((row) => row['QUERY PLAN'][0].Plan)) {
      const nodes = listNodes(plan);
      expect(nodes.map((node) => node['Index Name'])).toContainEqual(
        expect.stringContaining(index),
      );
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
      expect(plan['Total Cost']).toBeLessThan(COMPILED_COST);
    }
  },
);

it.each<[string, Partial<ListPlantsDto>, number, number]>([
  ['share statements', {}, 4, 2],
  ['with a condition are read alone, and planned for its value', { tag: 't1' }, 7, 16],
])('16 pages %s', async (_, conditions, fourthRow, statements) => {
  const starts = Array.from({ length: 16 }, (_, place) => 100 * place);
  const pages = await Promise.all(
    starts.map((start) => {
      const query = Object.assign(new ListPlantsDto(), conditions, { limit: 4, after: `${start}` });
      return app.nest.get(PlantsService).list(query);
    }),
  );
  const ends = starts.map((start) => start + fourthRow);
  expect(pages.map(({ next }) => Number(next))).toEqual(ends);
  expect(plans).toHaveLength(statements);
});

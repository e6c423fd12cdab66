import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { StoreDataSource } from '../../packages/platform/src/database/data-source/store-data-source.js';
import { ListPlantsDto } from '../../src/modules/plants/dto/list-plants.dto.js';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { TestApp } from '../support/test-app.js';

const ROWS = 20_000;
/** The cost from which a server compiles a statement, which takes longer than a page, by default. */
const COMPILED_COST = 100_000;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Total Cost': number;
  readonly Plans?: readonly Plan[];
}

const app = TestApp.forAll();
/** The plans of the statements that have read pages. */
const plans: Plan[] = [];

beforeAll(async () => {
  // Each name has 1,600 bytes, and their order is not that of the rows: so a page by name reads as
  // many blocks as it has rows.
  await app.query(`INSERT INTO plants (id, name, tag)
    SELECT i, (SELECT string_agg(md5(i || ' ' || part), '') FROM generate_series(1, 50) AS part),
      't' || i % 2 FROM generate_series(1, ${ROWS}) AS i`);
  await app.query('ANALYZE plants');
  const { pageReaders } = app.nest.get<StoreDataSource>(DataSource).pools;
  const acquire = pageReaders.acquire.bind(pageReaders);
  pageReaders.acquire = async () => {
    const session = await acquire();
    const query = session.query.bind(session);
    session.query = async ({ name, text }, parameters) => {
      const explain = { name: `explain ${name}`, text: `EXPLAIN (FORMAT JSON) ${text}` };
      const [row] = await query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explain, parameters);
      if (row !== undefined) plans.push(row['QUERY PLAN'][0].Plan);
      return await query({ name, text }, parameters);
    };
    return session;
  };
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
    for (const plan of plans) {
      const nodes = listNodes(plan);
      expect(nodes.map((node) => node['Index Name'])).toContainEqual(
        expect.stringContaining(index),
      );
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
      expect(plan['Total Cost']).toBeLessThan(COMPILED_COST);
    }
  },
);

it.each<[string, Partial<ListPlantsDto>, number]>([
  ['share statements', {}, 2],
  ['with a condition are read alone, and planned for its value', { tag: 't1' }, 16],
])('16 pages %s', async (_, conditions, statements) => {
  const starts = Array.from({ length: 16 }, (_, place) => 100 * place);
  const pages = await Promise.all(
    starts.map((start) => {
      const query = Object.assign(new ListPlantsDto(), conditions, { limit: 4, after: `${start}` });
      return app.nest.get(PlantsService).list(query);
    }),
  );
  const step = conditions.tag === undefined ? 1 : 2;
  expect(pages.map(({ next }) => Number(next))).toEqual(
    starts.map((start) => start + 4 * step - (step - 1)),
  );
  expect(plans).toHaveLength(statements);
});

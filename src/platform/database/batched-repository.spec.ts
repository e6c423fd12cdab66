import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Plant } from '../../modules/plants/plant.entity.js';
import { createDataSourceOptions, openDatabase } from './data-source/open-database.js';

import { schema } from '../../schema.js';
import { startsWithIgnoringCase } from './filters.js';
import { SqliteConnection } from './sqlite/sqlite-connection.js';
import type { SqliteDataSource } from './sqlite/sqlite-data-source.js';
import { BatchedRepository } from './batched-repository.js';

let folder: string;
let dataSource: SqliteDataSource;
let commits: BatchedRepository<Plant>;
let connection: SqliteConnection;
/** The statements that SQLite ran. */
let statements: string[];

beforeEach(async () => {
  Logger.overrideLogger(false);
  folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  dataSource = (await openDatabase(
    createDataSourceOptions(
      {
        DATABASE_URL: `sqlite:${join(folder, 'plants.db')}`,
        DATABASE_POOL_SIZE: 1,
      },
      schema,
    ),
  )) as SqliteDataSource;
  statements = [];
  connection = dataSource.driver.connections.commits;
  recordStatements();
  commits = new BatchedRepository(dataSource.getRepository(Plant));
});

afterEach(async () => {
  await dataSource.destroy();
  await rm(folder, { recursive: true });
});

function plant(
  id: number | string,
  name = `plant ${String(id)}`,
  tag: string | null = null,
): Plant {
  return { id: String(id), name, tag };
}

function plants(count: number): Plant[] {
  return Array.from({ length: count }, (_, index) => plant(index + 1));
}

async function storedIds(): Promise<string[]> {
  const rows = await dataSource.query<{ id: string }[]>(
    'SELECT CAST(id AS TEXT) AS id FROM plants ORDER BY plants.id',
  );
  return rows.map(({ id }) => id);
}

function recordStatements(): void {
  const all = connection.all.bind(connection);
  connection.all = (sql, parameters) => {
    statements.push(sql);
    return all(sql, parameters);
  };
}

describe('BatchedRepository', () => {
  it('commits the rows that arrive during a commit with one statement', async () => {
    const first = commits.create(plant(0));
    while (statements.length === 0) await Promise.resolve();
    const others = plants(500).map((row) => commits.create(row));
    const outcomes = await Promise.all([first, ...others]);
    expect(new Set(outcomes)).toEqual(new Set(['created']));
    expect(statements).toHaveLength(2);
    expect(await storedIds()).toHaveLength(501);
  });

  it.each([
    ['any name', undefined, ['id>?', '<expr>>?']],
    ['a prefix', 'mi', ['id>?', '<expr>>? AND <expr><?']],
  ])(
    'reads a page by name through the index, also among equal names: %s',
    async (_, prefix, bounds) => {
      const read = jest.spyOn(SqliteConnection.prototype, 'all');
      const orders = { name: [{ ignoringCase: 'name' as const }] };
      const byName = new BatchedRepository(dataSource.getRepository(Plant), { orders });
      const name = prefix === undefined ? undefined : startsWithIgnoringCase(prefix);
      await byName.createAll([1, 2].map((id) => plant(id, prefix)));
      const query = { sort: 'name', limit: 1 };
      const explain = async (): Promise<string[]> => {
        const [sql, values] = read.mock.lastCall ?? ['', []];
        const plan = await connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, values);
        return plan.map(({ detail }) => detail);
      };
      const { next: after } = await byName.page(query, { name });
      const first = await explain();
      expect((await byName.page({ ...query, after }, { name })).next).toBeUndefined();
      const second = await explain();
      read.mockRestore();
      const searches = second.filter((detail) => /^(?:SEARCH|SCAN) plants/.test(detail));
      const found = searches.map((search) => /\((?:<expr>=\? AND )?(.+)\)/.exec(search)?.[1]);
      // The order of the pages that one statement reads is sorted, and no rows are.
      for (const plan of [first, second]) {
        expect(plan.filter((detail) => detail.includes('TEMP B-TREE'))).toHaveLength(1);
      }
      expect(new Set(found)).toEqual(new Set(bounds));
    },
  );

  it('refuses at once what exceeds the queue, and answers the rest', async () => {
    // A stopped clock: no item waits for too long.
    jest.spyOn(performance, 'now').mockReturnValue(0);
    const results = await Promise.allSettled(plants(12_000).map((row) => commits.create(row)));
    jest.restoreAllMocks();
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(2_000);
    expect(refused[0]).toMatchObject({ reason: { status: 503, headers: { 'Retry-After': '1' } } });
    expect(await storedIds()).toHaveLength(10_000);
  });
});

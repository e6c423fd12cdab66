import { expect, it } from '@jest/globals';
import { Entity, PrimaryColumn, type QueryRunner } from 'typeorm';
import { int64 } from '../../src/platform/database/columns.js';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import type { PostgresDataSource } from '../../src/platform/database/postgres/postgres-data-source.js';
import { openEntityStore, usePlantStore } from '../support/store.js';

const store = usePlantStore();

it('a migration has no time limit, and other statements have theirs again', async () => {
  const limits: unknown[] = [];
  class Noting1700000000000 {
    async up(runner: QueryRunner): Promise<void> {
      limits.push(await runner.query('SHOW statement_timeout'));
    }
    down(): Promise<void> {
      return Promise.resolve();
    }
  }
  store.dataSource.migrations.push(new Noting1700000000000());
  await store.dataSource.runMigrations();
  limits.push(await store.dataSource.query('SHOW statement_timeout'));
  expect(limits).toEqual([[{ statement_timeout: '0' }], [{ statement_timeout: '4s' }]]);
});

it('the PostgreSQL store takes no commit for one that the server answers with ROLLBACK', async () => {
  const session = await (store.dataSource as PostgresDataSource).pools.writers.acquire();
  const insert = { name: 'insert', text: "INSERT INTO plants (id, name) VALUES (1, 'a')" };
  const run = session.transaction(async (within) => {
    await within.query(insert, []);
    await within.query({ name: 'fail', text: 'SELECT 1 / 0' }, []).catch(() => undefined);
  });
  await expect(run).rejects.toThrow('The transaction was rolled back');
  await session.release(false);
  expect(await store.plants.count()).toBe(0);
});

it('prepared statements of tables whose long names differ at their ends are kept apart', async () => {
  const name = 'a_table_whose_name_is_as_long_as_postgresql_allows_it_to_be';
  const entities = ['old', 'new'].map((ending) => {
    class Item {
      id!: string;
    }
    PrimaryColumn(int64())(Item.prototype, 'id');
    Entity(`${name}_${ending}`)(Item);
    return Item;
  });
  const both = await openEntityStore(entities);
  const repositories = entities.map(
    (entity) => new BatchedRepository(both.dataSource.getRepository(entity)),
  );
  for (const rows of [...repositories, ...repositories]) {
    const ids = Array.from({ length: 8 }, (_, index) => ({ id: String(index) }));
    await Promise.all(ids.map((row) => rows.create(row)));
    expect(await Promise.all(ids.map(({ id }) => rows.find(id)))).toEqual(ids);
  }
  await both.close();
});

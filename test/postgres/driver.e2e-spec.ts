import { expect, it } from '@jest/globals';
import {
  Entity,
  PrimaryColumn,
  QueryFailedError,
  type QueryRunner,
  SimpleConsoleLogger,
} from 'typeorm';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import { BatchedRepository, int64, StoreUnavailableError } from 'durable-rest';
import { createDataSourceOptions } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { PostgresDataSource } from '../../packages/store/src/postgres/postgres-data-source.js';
import { Plant } from '../fixtures/plant.entity.js';
import { listStoredIds, openEntityStore, plant, usePlantStore } from '../support/store.js';

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
  const run = session.transaction(async () => {
    await session.query(insert, []);
    await session.query({ name: 'fail', text: 'SELECT 1 / 0' }, []).catch(() => undefined);
  });
  await expect(run).rejects.toThrow('The transaction was rolled back');
  await session.release(false);
  expect(await store.plants.count()).toBe(0);
});

it.each([
  'SET synchronous_commit = off',
  '/* now */ set session synchronous_commit to off',
  "SELECT 1; SET SESSION synchronous_commit TO 'off'",
  "SELECT set_config('synchronous_commit', 'off', false)",
  'RESET ALL',
  'DISCARD ALL',
])('a setting of a query runner holds until its release: %s', async (sql) => {
  const { dataSource } = store;
  const show = async (): Promise<unknown[]> => [
    await dataSource.query<unknown>('SHOW synchronous_commit'),
    await dataSource.query<unknown>('SHOW statement_timeout'),
  ];
  const before = await show();
  await dataSource.query(sql);
  expect(await show()).toEqual(before);
});

it.each<[string, unknown[]]>([
  ['SELECT $1::text, $2::text', ['one']],
  ['SELECT $1::text', ['one', 'two']],
])('%s with the parameters %j is not a failure of the store', async (sql, parameters) => {
  const failure = store.dataSource.query(sql, parameters);
  await expect(failure).rejects.not.toBeInstanceOf(StoreUnavailableError);
  await expect(failure).rejects.toThrow(/parameters/);
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

it('a connection that is used again and again gets no further listeners', async () => {
  const { writers } = (store.dataSource as PostgresDataSource).pools;
  const counts = new Set<number>();
  for (let use = 0; use < 5; use++) {
    const connection = await writers.connect();
    counts.add(connection.client.listenerCount('error'));
    writers.release(connection, false);
  }
  expect(counts.size).toBe(1);
});

it('each connection logs what the server sends, with logNotifications', async () => {
  const options = createDataSourceOptions(
    { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 2 },
    { entities: [], migrations: [] },
  ) as PostgresConnectionOptions;
  const lines: unknown[] = [];
  const logger = Object.assign(new SimpleConsoleLogger(false), {
    log: (_: unknown, line: unknown) => void lines.push(line),
  });
  const dataSource = await openDatabase({ ...options, logNotifications: true, logger });
  await dataSource.query(`DO $$ BEGIN RAISE NOTICE 'this is a notice'; END $$`);
  const queryRunner = dataSource.createQueryRunner();
  await queryRunner.query('LISTEN greenhouse');
  await queryRunner.query(`NOTIFY greenhouse, 'open'`);
  await queryRunner.release();
  expect(lines).toEqual(['this is a notice', 'Received NOTIFY on channel greenhouse: open.']);
  await dataSource.destroy();
});

it.each([
  'DO $$ BEGIN PERFORM 1; COMMENT ON SCHEMA public IS NULL; END $$',
  'CREATE FUNCTION one() RETURNS integer BEGIN ATOMIC; SELECT 1; END',
  'CREATE FUNCTION one() RETURNS integer LANGUAGE sql AS $body$ SELECT 1; /* ; COMMIT */ $body$',
  `SELECT E'\\'; COMMIT', '; ROLLBACK', 1 AS "; BEGIN"; -- ; COMMIT`,
  'SELECT 1; SELECT 2; SELECT 3',
])('a text without control of transactions is executed in one: %s', async (sql) => {
  await store.dataSource.transaction((manager) => manager.query(sql));
});

it.each([
  'COPY plants FROM STDIN',
  'DO $$ BEGIN COMMIT; END $$',
  'CREATE PROCEDURE finish() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$; CALL finish()',
])('a statement that a transaction cannot execute is refused alone: %s', async (sql) => {
  const run = store.dataSource.transaction(async (manager) => {
    const refused = manager.transaction((nested) => nested.query(sql));
    await expect(refused).rejects.toBeInstanceOf(QueryFailedError);
    await manager.insert(Plant, plant(1));
  });
  await run;
  expect(await listStoredIds(store)).toEqual([1]);
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Entity, type EntityManager, PrimaryColumn, type QueryRunner } from 'typeorm';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { StoreUnavailableError } from '../../src/platform/database/store-unavailable.error.js';
import { int64 } from '../../src/platform/database/columns.js';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import type { PostgresDataSource } from '../../src/platform/database/postgres/postgres-data-source.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { type EntityStore, openEntityStore } from '../support/entity-store.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { TestStore } from '../support/test-store.js';

// The internals of TypeORM 0.3 that the driver depends on. A failure shows what an upgrade has
// changed.

let store: TestStore;
let proxy: TcpProxy;
let opened: EntityStore;
let dataSource: StoreDataSource;
let statements: string[];

beforeEach(async () => {
  Logger.overrideLogger(false);
  store = await TestStore.create();
  const url = new URL(store.url);
  proxy = await TcpProxy.start(Number(url.port || 5432));
  url.port = String(proxy.port);
  opened = await openEntityStore([Plant], { url: url.href });
  ({ dataSource } = opened);
  statements = [];
  dataSource.logger.logQuery = (sql) => statements.push(sql);
});

afterEach(async () => {
  proxy.befall();
  await opened.close();
  proxy.close();
  await store.remove();
});

describe("TypeORM's PostgreSQL driver", () => {
  it('makes every query runner by createQueryRunner()', async () => {
    const runner = dataSource.createQueryRunner();
    expect(runner).toBeInstanceOf(PostgresQueryRunner);
    expect(dataSource.driver.createQueryRunner('master').constructor).toBe(runner.constructor);
    await runner.release();
  });

  it('begins and ends transactions by these words', async () => {
    await dataSource.transaction(async (manager) => {
      await manager.transaction((nested) => nested.query('SELECT 1'));
    });
    expect(statements).toEqual([
      'START TRANSACTION',
      'SAVEPOINT typeorm_1',
      'SELECT 1',
      'RELEASE SAVEPOINT typeorm_1',
      'COMMIT',
    ]);
  });

  it('calls beforeMigration() on the query runner, to lift the time limit of migrations', async () => {
    const limits: unknown[] = [];
    class Noting1700000000000 {
      async up(runner: QueryRunner): Promise<void> {
        limits.push(await runner.query('SHOW statement_timeout'));
      }
      down(): Promise<void> {
        return Promise.resolve();
      }
    }
    dataSource.migrations.push(new Noting1700000000000());
    await dataSource.runMigrations();
    limits.push(await dataSource.query('SHOW statement_timeout'));
    expect(limits).toEqual([[{ statement_timeout: '0' }], [{ statement_timeout: '4s' }]]);
  });

  it('can close a connection under a statement when the server is silent', async () => {
    const runner = dataSource.createQueryRunner() as QueryRunner & {
      setTimeLimit: (limit: number) => Promise<void>;
    };
    await runner.setTimeLimit(200);
    proxy.befall({ kind: 'silence' });
    await expect(runner.query('SELECT 1')).rejects.toBeInstanceOf(StoreUnavailableError);
    proxy.befall();
    await runner.release();
    expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('distinguishes failures of the store from faulty statements', async () => {
    await expect(dataSource.query('SELECT * FROM nothing')).rejects.not.toBeInstanceOf(
      StoreUnavailableError,
    );
    const runner = dataSource.createQueryRunner();
    await runner.query('SET default_transaction_read_only = on');
    await expect(runner.query('DELETE FROM plants')).rejects.toBeInstanceOf(StoreUnavailableError);
    await runner.query('SET default_transaction_read_only = off');
    await runner.release();
  });
});

describe('the PostgreSQL store', () => {
  it('takes no commit for one that the server answers with ROLLBACK', async () => {
    const session = await (dataSource as PostgresDataSource).writers.acquire();
    const transaction = await session.begin();
    const insert = { name: 'insert', text: "INSERT INTO plants (id, name) VALUES (1, 'a')" };
    await transaction.query(insert, []);
    await transaction.query({ name: 'fail', text: 'SELECT 1 / 0' }, []).catch(() => undefined);
    await expect(transaction.commit()).rejects.toThrow('The transaction was rolled back');
    session.release(false);
    expect(await dataSource.getRepository(Plant).count()).toBe(0);
  });

  it("names the row that TypeORM cannot remove, since a module's own table refers to it", async () => {
    const plants = dataSource.getRepository(Plant);
    await dataSource.query('CREATE TABLE labels (plant bigint REFERENCES plants (id))');
    await plants.insert({ id: '1', name: 'n', tag: null });
    await dataSource.query('INSERT INTO labels VALUES (1)');
    await expect(plants.delete('1')).rejects.toMatchObject({
      kind: 'referenced',
      table: 'plants',
      properties: ['id'],
    });
    await expect(dataSource.query('INSERT INTO labels VALUES (2)')).rejects.toMatchObject({
      kind: 'foreign key',
      table: 'labels',
    });
  });

  it('finds a row by its text though another text has the same hash', async () => {
    await dataSource.query(
      `CREATE OR REPLACE FUNCTION plant_store_text_hash(text) RETURNS bytea
       LANGUAGE sql IMMUTABLE AS $$ SELECT '\\x00'::bytea $$`,
    );
    const rows = new BatchedRepository(dataSource.getRepository(Plant), { hashed: ['tag'] });
    const plants = ['a', 'b'].map((tag, index) => ({ id: String(index), name: 'n', tag }));
    for (const plant of plants) await rows.create(plant);
    const { rows: found } = await rows.list({ limit: 10 }, { tag: 'b' });
    expect(found).toEqual([plants[1]]);
  });
});

describe('a transaction of a module', () => {
  const insert = (manager: EntityManager, id: string): Promise<unknown> =>
    manager.insert(Plant, { id, name: 'n', tag: null });
  const ROLLED_BACK = /A statement of this transaction has failed/;

  it.each<[string, (manager: EntityManager) => Promise<unknown>]>([
    ['an insert', (manager) => insert(manager, '1')],
    ['a query', (manager) => manager.query('SELECT 1 / 0')],
  ])('is rejected when the failure of a statement was caught: %s', async (_, fail) => {
    const caught: unknown[] = [];
    const done = dataSource.transaction(async (manager) => {
      await insert(manager, '1');
      await fail(manager).catch((error: unknown) => caught.push(error));
    });
    await expect(done).rejects.toThrow(ROLLED_BACK);
    await expect(done).rejects.not.toBeInstanceOf(StoreUnavailableError);
    expect(caught).toHaveLength(1);
    expect(await dataSource.getRepository(Plant).count()).toBe(0);
  });

  it('is rejected when a statement fails that nobody has waited for', async () => {
    const done = dataSource.transaction(async (manager) => {
      await insert(manager, '1');
      void manager.query('SELECT 1 / 0').catch(() => undefined);
    });
    await expect(done).rejects.toThrow(ROLLED_BACK);
    expect(await dataSource.getRepository(Plant).count()).toBe(0);
  });

  it('is rolled back as a whole when a nested one could not begin', async () => {
    const done = dataSource.transaction(async (manager) => {
      const nested = (id: string): Promise<unknown> =>
        manager.transaction((within) => insert(within, id)).catch(() => undefined);
      await insert(manager, '1');
      await nested('1');
      await insert(manager, '2');
      await insert(manager, '2').catch(() => undefined);
      await nested('3');
      await insert(manager, '4').catch(() => undefined);
    });
    await expect(done).rejects.toThrow(ROLLED_BACK);
    expect(await dataSource.getRepository(Plant).count()).toBe(0);
  });

  it('is committed when the failure of a nested one was caught', async () => {
    await dataSource.transaction(async (manager) => {
      await insert(manager, '1');
      const nested = manager.transaction((within) => insert(within, '1'));
      await expect(nested).rejects.toMatchObject({ kind: 'unique' });
      await manager.transaction((within) => insert(within, '2'));
    });
    expect(await dataSource.getRepository(Plant).count()).toBe(2);
  });

  it('has the time limit of a statement for each of those that begin together', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.setTimeLimit(500);
    await Promise.all([1, 2, 3, 4].map(() => runner.query('SELECT pg_sleep(0.4)')));
    await runner.commitTransaction();
    await runner.release();
  });

  it('may be begun again by a query runner whose commit was rejected', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SELECT 1 / 0').catch(() => undefined);
    await expect(runner.commitTransaction()).rejects.toThrow(ROLLED_BACK);
    await runner.rollbackTransaction();
    await runner.startTransaction();
    await insert(runner.manager, '1');
    await runner.commitTransaction();
    await runner.release();
    expect(await dataSource.getRepository(Plant).count()).toBe(1);
  });

  it('names the constraint that its commit breaks', async () => {
    await dataSource.query(
      'ALTER TABLE plants ADD CONSTRAINT same UNIQUE (tag) DEFERRABLE INITIALLY DEFERRED',
    );
    const done = dataSource.transaction((manager) =>
      manager.insert(
        Plant,
        ['1', '2'].map((id) => ({ id, name: 'n', tag: 't' })),
      ),
    );
    await expect(done).rejects.toMatchObject({ kind: 'unique', properties: ['tag'] });
  });
});

describe('statements that stay prepared', () => {
  it('are kept apart when two repositories of an entity read pages in different orders', async () => {
    const repository = dataSource.getRepository(Plant);
    const byName = new BatchedRepository(repository, { orders: { name: ['name'] } });
    const byId = new BatchedRepository(repository);
    const plants = ['b', 'a'].map((name, index) => ({ id: String(index), name, tag: null }));
    await byId.createAll(plants);
    const pages = await Promise.all(
      Array.from({ length: 8 }, async () => [
        await byName.list({ limit: 10, sort: 'name' }),
        await byId.list({ limit: 10 }),
      ]),
    );
    for (const [sorted, inOrder] of pages) {
      expect(sorted?.rows).toEqual([...plants].reverse());
      expect(inOrder?.rows).toEqual(plants);
    }
  });

  it('are kept apart when the names of two tables differ only in their last letters', async () => {
    const name = 'a_table_whose_name_is_as_long_as_postgresql_allows_it_to_be';
    const entities = ['old', 'new'].map((ending) => {
      class Item {
        id!: string;
      }
      PrimaryColumn(int64())(Item.prototype, 'id');
      Entity(`${name}_${ending}`)(Item);
      return Item;
    });
    const both = await openEntityStore(entities, { url: store.url });
    const repositories = entities.map(
      (entity) => new BatchedRepository(both.dataSource.getRepository(entity)),
    );
    try {
      for (const rows of [...repositories, ...repositories]) {
        const ids = Array.from({ length: 8 }, (_, index) => ({ id: String(index) }));
        await Promise.all(ids.map((row) => rows.create(row)));
        expect(await Promise.all(ids.map(({ id }) => rows.find(id)))).toEqual(ids);
      }
    } finally {
      await both.close();
    }
  });
});

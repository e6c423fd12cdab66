import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { existsSync, writeFileSync } from 'node:fs';
import {
  Column,
  Entity,
  ForeignKey,
  type MigrationInterface,
  PrimaryColumn,
  type QueryRunner,
} from 'typeorm';
import { Plant } from '../fixtures/plant.entity.js';
import { int64, StoreUnavailableError, text } from 'durable-rest';
import type { SqliteConnections } from '../../packages/store/src/sqlite/sqlite-connections.js';
import { holdTimeouts, passTimeouts, resetClocks, until } from 'durable-rest/testing';
import {
  listStoredIds,
  openEntityStore,
  plant,
  useEntityStore,
  usePlantStore,
} from '../support/store.js';

/** More than any transaction of these tests takes on a busy machine. */
const TRANSACTION_TIMEOUT_MS = 600_000;
/** Lasts until it is interrupted. */
const ENDLESS = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
  SELECT count(*) FROM numbers`;

const store = usePlantStore({ TRANSACTION_TIMEOUT_MS });

afterEach(resetClocks);

describe('others write while a query runner is not released that', () => {
  it.each<[string, (runner: QueryRunner) => Promise<unknown>]>([
    ['has read the schema', (runner) => runner.getTable('plants')],
    ['has looked for a column', (runner) => runner.hasColumn('plants', 'tag')],
    ['has a setting', (runner) => runner.query('PRAGMA cache_size = 7')],
    ['has a temporary table', (runner) => runner.query('CREATE TEMP TABLE notes (text)')],
    [
      'has committed at an isolation level',
      async (runner) => {
        await runner.startTransaction('SERIALIZABLE');
        await runner.manager.insert(Plant, plant(1));
        await runner.commitTransaction();
      },
    ],
    [
      'has changed a setting in a transaction',
      async (runner) => {
        await runner.startTransaction();
        await runner.query('PRAGMA cache_size = 7');
        await runner.commitTransaction();
      },
    ],
  ])('%s', async (_, use) => {
    const runner = store.dataSource.createQueryRunner();
    await use(runner);
    await store.plants.save(plant(2));
    expect(await store.rows.create(plant(3))).toBe('created');
    // The runner goes on too.
    await runner.manager.insert(Plant, plant(4));
    await runner.release();
    expect(await listStoredIds(store)).toEqual(expect.arrayContaining([2, 3, 4]));
  });
});

describe('a setting of a query runner', () => {
  it('holds until its release, also in transactions', async () => {
    const runner = store.dataSource.createQueryRunner();
    await runner.query('PRAGMA foreign_keys = OFF');
    const settings: unknown[] = [];
    for (const id of [1, 2]) {
      await runner.startTransaction();
      settings.push(await runner.query('PRAGMA foreign_keys'));
      await runner.manager.insert(Plant, plant(id));
      await runner.commitTransaction();
      settings.push(await store.dataSource.query('PRAGMA foreign_keys'));
    }
    await runner.release();
    const [off, on] = [[{ foreign_keys: 0 }], [{ foreign_keys: 1 }]];
    expect(settings).toEqual([off, on, off, on]);
  });

  it('leaves each transaction its time limit', async () => {
    holdTimeouts();
    const runner = store.dataSource.createQueryRunner();
    await runner.query('PRAGMA cache_size = 7');
    await runner.startTransaction();
    await runner.manager.insert(Plant, plant(1));
    await runner.commitTransaction();
    await runner.startTransaction();
    await runner.manager.insert(Plant, plant(2));
    passTimeouts(TRANSACTION_TIMEOUT_MS);
    await expect(runner.commitTransaction()).rejects.toThrow(StoreUnavailableError);
    await runner.release();
    expect(await listStoredIds(store)).toEqual([1]);
  });

  it('ends with its connection, which is closed at the release', async () => {
    const file = `${store.url.replace('sqlite:', '')}-notes`;
    writeFileSync(file, '');
    const runner = store.dataSource.createQueryRunner();
    await runner.query(`ATTACH '${file}' AS notes`);
    await runner.query('PRAGMA notes.journal_mode = WAL');
    await runner.query('CREATE TABLE notes.lines (text)');
    expect(existsSync(`${file}-wal`)).toBe(true);
    await runner.release();
    // SQLite removes the log with the last connection to a file.
    expect(existsSync(`${file}-wal`)).toBe(false);
  });
});

it.each([
  'CREATE TEMP TABLE plants (id, name, tag)',
  'CREATE TABLE temp.plants (id, name, tag)',
  'create table if not exists "temp" . plants (id, name, tag)',
  'CREATE TABLE /* of mine */ [TEMP].plants AS SELECT 1 AS id',
  'CREATE TEMPORARY VIEW plants AS SELECT 1 AS id',
  'CREATE VIEW `temp`.plants AS SELECT 1 AS id',
  "CREATE TRIGGER temp.refuse BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'no'); END",
  "CREATE TRIGGER 'temp'.refuse BEFORE INSERT ON main.plants BEGIN SELECT RAISE(ABORT, 'no'); END",
  'CREATE VIRTUAL TABLE temp.plants USING fts5(id, name, tag)',
])('a temporary object of a module does not reach the statements of others: %s', async (sql) => {
  const { dataSource } = store;
  await dataSource.query(sql);
  await dataSource.transaction((manager) => manager.query(sql));
  for (let id = 1; id <= 4; id++) await dataSource.manager.insert(Plant, plant(id));
  await dataSource.transaction((manager) => manager.insert(Plant, plant(5)));
  expect(await listStoredIds(store)).toEqual([1, 2, 3, 4, 5]);
});

it('a COMMIT that was sent is not interrupted by the time limit, and its query runner goes on', async () => {
  holdTimeouts();
  const connections = store.dataSource.pools as SqliteConnections;
  // The next transaction gets the connection of this turn.
  const turn = await connections.take('write', new Error('a test'));
  const { connection } = turn;
  const all = connection.all.bind(connection);
  connection.all = (sql, parameters) => {
    if (sql === 'COMMIT') passTimeouts(TRANSACTION_TIMEOUT_MS);
    return all(sql, parameters);
  };
  const interrupt = jest.spyOn(connection, 'interrupt');
  await turn.end('shared');
  const runner = store.dataSource.createQueryRunner();
  await runner.startTransaction();
  await runner.manager.insert(Plant, plant(1));
  await runner.commitTransaction();
  expect(interrupt).not.toHaveBeenCalled();
  await runner.manager.insert(Plant, plant(2));
  await runner.release();
  expect(await listStoredIds(store)).toEqual([1, 2]);
});

it('a transaction that expires during a statement ends alone, whatever its connection', async () => {
  for (let round = 0; round < 20; round++) {
    holdTimeouts();
    const run = store.dataSource.transaction(async (manager) => {
      await manager.query('PRAGMA cache_size = 7');
      await manager.insert(Plant, plant(round));
      const endless = manager.query(ENDLESS);
      passTimeouts(TRANSACTION_TIMEOUT_MS);
      await endless;
    });
    await expect(run).rejects.toThrow(StoreUnavailableError);
    resetClocks();
  }
  expect(await listStoredIds(store)).toEqual([]);
});

it('a statement that takes too long fails alone, and its query runner goes on', async () => {
  const runner = store.dataSource.createQueryRunner();
  holdTimeouts();
  const refused = expect(runner.query(ENDLESS)).rejects.toThrow(StoreUnavailableError);
  // Its limit begins when it has a connection, which may have to be opened first.
  await until(() => jest.getTimerCount() > 0);
  passTimeouts(TRANSACTION_TIMEOUT_MS);
  await refused;
  expect(await runner.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await runner.release();
});

@Entity('parents')
class Parent {
  @PrimaryColumn(int64()) id!: string;
  @Column(text()) name!: string;
}

@Entity('children')
class Child {
  @PrimaryColumn(int64()) id!: string;

  @ForeignKey(() => Parent, { onDelete: 'CASCADE' })
  @Column(int64())
  parentId!: string;
}

it('a migration that rebuilds a table keeps the rows that refer to it', async () => {
  class Rebuild1700000000000 implements MigrationInterface {
    async up(runner: QueryRunner): Promise<void> {
      const table = await runner.getTable('parents');
      const column = table?.findColumnByName('name');
      const changed = column?.clone();
      if (table === undefined || column === undefined || changed === undefined) throw new Error();
      changed.isNullable = true;
      await runner.changeColumn(table, column, changed);
    }
    async down(): Promise<void> {
      // It stays.
    }
  }
  const family = await openEntityStore([Parent, Child]);
  const { dataSource } = family;
  await dataSource.getRepository(Parent).insert({ id: '1', name: 'a' });
  await dataSource.getRepository(Child).insert({ id: '2', parentId: '1' });
  dataSource.migrations.push(new Rebuild1700000000000());
  await dataSource.runMigrations();
  expect(await dataSource.getRepository(Child).find()).toEqual([{ id: '2', parentId: '1' }]);
  await dataSource.getRepository(Parent).delete({ id: '1' });
  expect(await dataSource.getRepository(Child).count()).toBe(0);
  await family.close();
});

@Entity('counters')
class Counter {
  @PrimaryColumn('integer') id!: number;
  @Column('int8') count!: number | string;
}

describe('an int64', () => {
  const counters = useEntityStore([Counter]);

  beforeEach(async () => {
    await counters.dataSource.query(
      'INSERT INTO counters VALUES (1, 5), (2, 9007199254740993), (3, 5000000000)',
    );
  });

  it('keeps its type beside one that a number would round', async () => {
    const rows = await counters.dataSource.getRepository(Counter).find({ order: { id: 'ASC' } });
    expect(rows.map(({ count }) => count)).toEqual([5, '9007199254740993', 5000000000]);
  });

  it.each([
    ['count = :value', 5n, 1],
    ['count + 1 = :value', 6n, 1],
    ['count + 1 = :value', 5000000001n, 3],
    ['count = :value', 5000000000n, 3],
    ['count = :value', 9007199254740993n, 2],
  ])('is found by the parameter of %s: %p', async (condition, value, id) => {
    const query = counters.dataSource.getRepository(Counter).createQueryBuilder();
    expect(await query.where(condition, { value }).getOne()).toMatchObject({ id });
  });

  const LARGE = 'SELECT count FROM counters WHERE id = 2';
  const EXACT = { count: '9007199254740993' };

  it.each([
    [LARGE, EXACT],
    [`${LARGE} -- the large one`, EXACT],
    [`${LARGE};`, EXACT],
    [`${LARGE} ;\n; -- the large one;`, EXACT],
    [`${LARGE} /* ; */; /* the large one */`, EXACT],
    ["SELECT count, ';' AS text FROM counters WHERE id = 2;", { ...EXACT, text: ';' }],
    // The driver gives the last one of two columns with one name.
    ['SELECT 1 AS id, 9007199254740993 AS id', { id: 9007199254740992 }],
    ['SELECT 9007199254740993 AS id, 2 AS id', { id: 2 }],
    ['SELECT 1 AS id, 9007199254740993 AS ID', { id: 1, ID: 9007199254740992 }],
  ])('is read by a structured query: %s', async (sql, row) => {
    const runner = counters.dataSource.createQueryRunner();
    const { records } = await runner.query(sql, [], true);
    await runner.release();
    expect(records).toEqual([row]);
  });
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { BatchedRepository, ConstraintError } from 'durable-rest';
import { Bed, Row } from '../cases/beds.js';
import { useEntityStore } from '../support/store.js';

const store = useEntityStore([Bed, Row]);
let beds: BatchedRepository<Bed>;

beforeEach(async () => {
  beds = new BatchedRepository(store.dataSource.getRepository(Bed));
  await beds.create({ id: '1', name: 'a' });
});

async function listBeds(): Promise<string[]> {
  const { rows } = await beds.list({ limit: 10 });
  return rows.map(({ id, name }) => `${id} ${name}`);
}

const INSERTED = [{ name: 'b' }];

describe('query() gives the rows of RETURNING, and they are stored:', () => {
  it.each<[sql: string, result: unknown, stored: string[]]>([
    ['INSERT INTO beds (id, name) VALUES (2, $1) RETURNING name', INSERTED, ['1 a', '2 b']],
    ['insert into beds (id, name) values (2, $1) returning name', INSERTED, ['1 a', '2 b']],
    [
      '-- a comment\n/* and one more */ INSERT INTO beds (id, name) VALUES (2, $1) RETURNING name',
      INSERTED,
      ['1 a', '2 b'],
    ],
    [
      'WITH next (id) AS (SELECT max(id) + 1 FROM beds) INSERT INTO beds SELECT id, $1 FROM next RETURNING name',
      INSERTED,
      ['1 a', '2 b'],
    ],
    [
      'INSERT INTO beds (id, name) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING name',
      INSERTED,
      ['1 b'],
    ],
    [
      'INSERT INTO beds (id, name) VALUES (1, $1) ON CONFLICT DO NOTHING RETURNING name',
      [],
      ['1 a'],
    ],
    ['UPDATE beds SET name = $1 RETURNING name', [[{ name: 'b' }], 1], ['1 b']],
    ['update beds set name = $1 where id = 9 returning name', [[], 0], ['1 a']],
    [
      'WITH old AS (SELECT 1 AS id) UPDATE beds SET name = $1 WHERE id IN (SELECT id FROM old) RETURNING name',
      [[{ name: 'b' }], 1],
      ['1 b'],
    ],
    ['DELETE FROM beds WHERE name <> $1 RETURNING name', [[{ name: 'a' }], 1], []],
    [
      'WITH old AS (SELECT 1 AS id) DELETE FROM beds WHERE name <> $1 RETURNING "name"',
      [[{ name: 'a' }], 1],
      [],
    ],
  ])('%s', async (sql, result, stored) => {
    expect(await store.dataSource.query(sql, ['b'])).toEqual(result);
    expect(await listBeds()).toEqual(stored);
    expect(await beds.create({ id: '8', name: 'created' })).toBe('created');
    await store.dataSource.transaction((manager) => manager.insert(Bed, { id: '9', name: 't' }));
    expect(await listBeds()).toEqual([...stored, '8 created', '9 t']);
  });

  it('in a transaction, which is stored as a whole', async () => {
    const given = await store.dataSource.transaction(async (manager) => [
      (await manager.query('INSERT INTO beds VALUES (2, $1) RETURNING name', ['b'])) as unknown,
      (await manager.query('DELETE FROM beds WHERE id = $1 RETURNING name', [1])) as unknown,
    ]);
    expect(given).toEqual([INSERTED, [[{ name: 'a' }], 1]]);
    expect(await listBeds()).toEqual(['2 b']);
  });
});

it('a statement with RETURNING whose commit fails is rejected, and leaves nothing behind', async () => {
  const insert = 'INSERT INTO rows (id, "bedId") VALUES (1, $1) RETURNING id';
  await expect(store.dataSource.query(insert, [7])).rejects.toBeInstanceOf(ConstraintError);
  expect(await store.dataSource.getRepository(Row).count()).toBe(0);
  expect(await beds.create({ id: '8', name: 'created' })).toBe('created');
  await store.dataSource.transaction((manager) => manager.insert(Bed, { id: '9', name: 't' }));
  expect(await listBeds()).toEqual(['1 a', '8 created', '9 t']);
});

it.each([
  "EXPLAIN INSERT INTO beds VALUES (2, 'b')",
  '-- a comment\nexplain SELECT * FROM beds',
  "EXPLAIN UPDATE beds SET name = 'b' RETURNING id",
  'EXPLAIN DELETE FROM beds',
])('%s changes nothing, and what is written after it is stored', async (sql) => {
  const { dataSource } = store;
  for (const connection of [1, 2]) {
    expect(await dataSource.query(sql)).not.toEqual([]);
    await dataSource.transaction(async (manager) => {
      await manager.query(sql);
      await manager.insert(Bed, { id: String(connection + 1), name: 't' });
    });
  }
  await dataSource.query("INSERT INTO beds VALUES (4, 'q')");
  expect(await beds.create({ id: '8', name: 'created' })).toBe('created');
  expect(await dataSource.getRepository(Bed).count()).toBe(5);
});

import { describe, expect, it } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { changeSchema, int64, text } from 'durable-rest';
import { plant, usePlantStore } from '../support/store.js';

const store = usePlantStore();

/** Executes steps as a migration does. */
async function migrate(up: (queryRunner: QueryRunner) => Promise<void>): Promise<void> {
  await store.dataSource.transaction(async ({ queryRunner }) => {
    if (queryRunner === undefined) throw new TypeError('no query runner');
    await up(queryRunner);
  });
}

async function addColour(): Promise<void> {
  await migrate((queryRunner) =>
    changeSchema(queryRunner).addColumn({ table: 'plants', column: 'colour', type: text() }),
  );
}

describe('a column that is added', () => {
  it('is NULL in every row, and programs that do not know it continue to work', async () => {
    await store.rows.create(plant(1, 'a'));
    await addColour();
    expect(await store.rows.create(plant(2, 'b'))).toBe('created');
    expect(await store.rows.replace(plant(1, 'c'))).toBe(true);
    const rows: unknown = await store.dataSource.query(
      'SELECT name, colour FROM plants ORDER BY id',
    );
    expect(rows).toEqual([
      { name: 'c', colour: null },
      { name: 'b', colour: null },
    ]);
  });

  it('is compared byte by byte, like the columns of the table', async () => {
    await addColour();
    const collations: unknown = await store.dataSource.query(
      "SELECT collation_name FROM information_schema.columns WHERE column_name = 'colour'",
    );
    expect(collations).toEqual([{ collation_name: 'C' }]);
  });

  it('waits for a transaction that uses the table, and blocks no other statement', async () => {
    const report = store.dataSource.createQueryRunner();
    await report.startTransaction();
    await report.query('SELECT count(*) FROM plants');
    let attempts = 0;
    store.dataSource.logger.logQuery = (sql) => {
      if (sql.startsWith('ALTER TABLE')) attempts++;
    };
    const added = addColour();
    // It gives up again and again.
    let id = 0;
    while (attempts < 3) {
      expect(await store.rows.create(plant(++id))).toBe('created');
    }
    await report.commitTransaction();
    await report.release();
    await added;
    expect(await store.dataSource.query('SELECT colour FROM plants')).toHaveLength(id);
  });
});

it('a change of a table leaves later statements their own limit for locks', async () => {
  const runner = store.dataSource.createQueryRunner();
  const readLimit = (): Promise<unknown> => runner.query('SHOW lock_timeout');
  const before = await readLimit();
  await changeSchema(runner).addColumn({ table: 'plants', column: 'colour', type: text() });
  expect(await readLimit()).toEqual(before);
  await runner.release();
});

const NAME = { columns: { name: text(), id: int64() } };

it('an index that an interrupted migration has left invalid is created anew', async () => {
  const { dataSource } = store;
  const createIndex = async (): Promise<void> => {
    const runner = dataSource.createQueryRunner();
    const plants = { name: 'plants', ...NAME };
    await changeSchema(runner).createIndex('plants_by_name', plants, ['name']);
    await runner.release();
  };
  const isIndex = "indexrelid = 'plants_by_name'::regclass";
  await createIndex();
  await dataSource.query(`UPDATE pg_index SET indisvalid = false WHERE ${isIndex}`);
  await createIndex();
  const indexes: unknown = await dataSource.query(
    `SELECT indisvalid AS "isValid" FROM pg_index WHERE ${isIndex}`,
  );
  expect(indexes).toEqual([{ isValid: true }]);
});

describe('an index in the transaction of a migration', () => {
  it('is refused for a table in use, even for an empty one', async () => {
    const plants = { name: 'plants', ...NAME };
    await expect(
      migrate((queryRunner) =>
        changeSchema(queryRunner).createIndex('plants_name', plants, ['name']),
      ),
    ).rejects.toThrow('give the migration "readonly transaction = false"');
  });

  it('is created with its table', async () => {
    const indexes = { trays_name: ['name' as const] };
    await migrate(async (queryRunner) => {
      await changeSchema(queryRunner).createTable({ name: 'trays', ...NAME, key: ['id'], indexes });
    });
    const created: unknown = await store.dataSource.query(
      "SELECT 1 FROM pg_indexes WHERE indexname = 'trays_name'",
    );
    expect(created).toHaveLength(1);
  });
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn, type QueryRunner } from 'typeorm';
import { int64, text } from '../../src/platform/database/columns.js';
import { changeSchema } from '../../src/platform/database/migration-steps.js';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { useEntityStore } from '../support/store.js';

@Entity('pots')
class Pot {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @Column({ type: 'text' })
  name!: string;
}

const store = useEntityStore([Pot]);
let pots: BatchedRepository<Pot>;

beforeEach(() => {
  pots = new BatchedRepository(store.dataSource.getRepository(Pot));
});

/** Executes steps as a migration does. */
async function migrate(up: (queryRunner: QueryRunner) => Promise<void>): Promise<void> {
  await store.dataSource.transaction(async ({ queryRunner }) => {
    if (queryRunner === undefined) throw new TypeError('no query runner');
    await up(queryRunner);
  });
}

async function addGlaze(): Promise<void> {
  await migrate((queryRunner) =>
    changeSchema(queryRunner).addColumn({ table: 'pots', column: 'glaze', type: text() }),
  );
}

describe('a column that is added', () => {
  it('is NULL in every row, and programs that do not know it continue to work', async () => {
    await pots.create({ id: '1', name: 'a' });
    await addGlaze();
    expect(await pots.create({ id: '2', name: 'b' })).toBe('created');
    expect(await pots.replace({ id: '1', name: 'c' })).toBe(true);
    const rows: unknown = await store.dataSource.query('SELECT * FROM pots ORDER BY id');
    expect(rows).toEqual([
      { id: '1', name: 'c', glaze: null },
      { id: '2', name: 'b', glaze: null },
    ]);
  });

  it('waits for a transaction that uses the table, and blocks no other statement', async () => {
    const report = store.dataSource.createQueryRunner();
    await report.startTransaction();
    await report.query('SELECT count(*) FROM pots');
    let attempts = 0;
    store.dataSource.logger.logQuery = (sql) => {
      if (sql.startsWith('ALTER TABLE')) attempts++;
    };
    const added = addGlaze();
    // It gives up again and again.
    let id = 0;
    while (attempts < 3) {
      expect(await pots.create({ id: String(++id), name: 'a' })).toBe('created');
    }
    await report.commitTransaction();
    await report.release();
    await added;
    expect(await store.dataSource.query('SELECT glaze FROM pots')).toHaveLength(id);
  });
});

describe('an index in the transaction of a migration', () => {
  const NAME = { columns: { name: text(), id: int64() } };

  it('is refused for a table in use, even for an empty one', async () => {
    const pots = { name: 'pots', ...NAME };
    await expect(
      migrate((queryRunner) => changeSchema(queryRunner).createIndex('pots_name', pots, ['name'])),
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

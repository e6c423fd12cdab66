import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Column, Entity, type MigrationInterface, PrimaryColumn, type QueryRunner } from 'typeorm';
import { changeSchema, int64, nullable, RecordChanges, text } from 'durable-rest';
import { createDataSourceOptions } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import { schema } from '../fixtures/schema.js';
import { TestStore } from 'durable-rest/testing';

// A migration that has added a column to a table whose changes are recorded is undone, as
// docs/tutorial-release.md and TypeORM's documentation say. The release before it must be able to go on.

/** The plant of the release that adds a column. */
@Entity('plants')
@RecordChanges('plant')
class Plant {
  @PrimaryColumn(int64())
  id!: string;

  @Column(text())
  name!: string;

  @Column(nullable(text()))
  tag?: string | null;

  @Column(nullable(text()))
  origin?: string | null;
}

abstract class AddOrigin implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const type = nullable(text());
    await changeSchema(queryRunner).addColumn({ table: 'plants', column: 'origin', type });
  }

  abstract down(queryRunner: QueryRunner): Promise<void>;
}

class ByStatement1900000000001 extends AddOrigin {
  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`INSERT INTO plants (id, name) VALUES (2, 'before')`);
    await queryRunner.query('ALTER TABLE plants DROP COLUMN origin');
    await queryRunner.query(`INSERT INTO plants (id, name) VALUES (3, 'after')`);
  }
}

class ByTypeOrm1900000000001 extends AddOrigin {
  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`INSERT INTO plants (id, name) VALUES (2, 'before')`);
    await queryRunner.dropColumn('plants', 'origin');
    await queryRunner.query(`INSERT INTO plants (id, name) VALUES (3, 'after')`);
  }
}

let store: TestStore;

beforeEach(async () => {
  store = await TestStore.create();
});

afterEach(() => store.remove());

it.each([ByStatement1900000000001, ByTypeOrm1900000000001])(
  'the feed goes on when a column is dropped: %p',
  async (migration) => {
    const [, ...others] = schema.entities;
    const dataSource = await openDatabase(
      createDataSourceOptions(
        { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 4, CHANGE_FEED: 'on' },
        { entities: [Plant, ...others], migrations: [...schema.migrations, migration] },
      ),
    );
    await insert(dataSource, `(id, name, origin) VALUES (1, 'first', 'Peru')`);
    await dataSource.undoLastMigration();
    await insert(dataSource, `(id, name) VALUES (4, 'later')`);
    const changes = await dataSource.query<object[]>(
      'SELECT data FROM changes WHERE number > 0 ORDER BY number',
    );
    expect(changes).toEqual([
      { data: '{"id":1,"name":"first","origin":"Peru"}' },
      { data: '{"id":2,"name":"before"}' },
      { data: '{"id":3,"name":"after"}' },
      { data: '{"id":4,"name":"later"}' },
    ]);
    await dataSource.destroy();
  },
);

async function insert(dataSource: StoreDataSource, row: string): Promise<void> {
  await dataSource.query(`INSERT INTO plants ${row}`);
}

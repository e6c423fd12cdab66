import { type MigrationInterface, type QueryRunner, Table, TableForeignKey } from 'typeorm';

/** It names an engine, and cannot be undone. */
export class CreateShelves1795880000002 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const { driver, entityMetadatas, options } = queryRunner.connection;
    for (const name of ['shelves', 'pots']) {
      const metadata = entityMetadatas.find(({ tableName }) => tableName === name);
      if (metadata === undefined) continue;
      const table = Table.create(metadata, driver);
      table.foreignKeys = metadata.foreignKeys.map((key) => TableForeignKey.create(key, driver));
      await queryRunner.createTable(table);
    }
    if (options.type === 'postgres') return;
    await queryRunner.query(
      `CREATE TRIGGER no_empty_pot BEFORE INSERT ON pots WHEN NEW.size = 0 BEGIN SELECT RAISE(ABORT, 'empty'); END`,
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Shelves cannot be removed'));
  }
}

import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';

export class CreatePlants1763000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'plants',
        columns: [
          // On SQLite exactly this type makes the key the rowid: one B-tree, and int64 enforced.
          { name: 'id', type: 'integer', isPrimary: true },
          { name: 'name', type: 'text' },
          { name: 'tag', type: 'text', isNullable: true },
        ],
      }),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('plants');
  }
}

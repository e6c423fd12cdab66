import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { int64KeyType } from '../../../platform/database/int64-key-type.js';

export class CreatePlants1763000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'plants',
        columns: [
          { name: 'id', type: int64KeyType(queryRunner), isPrimary: true },
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

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { type ColumnType, int64, nullable } from '../../../platform/database/columns.js';
import { changeSchema } from '../../../platform/database/migration-steps.js';

const text: ColumnType = { type: 'text' };

export class CreatePlants1763000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTable({
      name: 'plants',
      columns: { id: int64(), name: text, tag: nullable(text) },
      key: ['id'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('plants');
  }
}

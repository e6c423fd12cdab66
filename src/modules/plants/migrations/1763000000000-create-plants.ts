import type { MigrationInterface, QueryRunner } from 'typeorm';
import { int64, nullable, text } from '../../../platform/database/columns.js';
import { changeSchema } from '../../../platform/database/migration-steps.js';

export class CreatePlants1763000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const steps = changeSchema(queryRunner);
    await steps.createTable({
      name: 'plants',
      columns: { id: int64(), name: text(), tag: nullable(text()) },
      key: ['id'],
    });
    await steps.createIndex({
      name: 'plants_name',
      table: 'plants',
      columns: { name: text(), id: int64() },
      ignoringCase: ['name'],
    });
    await steps.createIndex({
      name: 'plants_tag',
      table: 'plants',
      columns: { tag: nullable(text()), id: int64() },
      ignoringCase: ['tag'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('plants');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { int64, nullable, text } from '../../../platform/database/columns.js';
import { changeSchema } from '../../../platform/database/migration-steps.js';

/** Stores that version 1.0.0 has created have no indexes. */
export class IndexPlants1795800000000 implements MigrationInterface {
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    const steps = changeSchema(queryRunner);
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
    const steps = changeSchema(queryRunner);
    await steps.dropIndex('plants_tag');
    await steps.dropIndex('plants_name');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeSchema } from '../../../platform/database/migration-steps.js';

export class IndexPlantsByTag1795219200000 implements MigrationInterface {
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTextIndex({
      name: 'plants_tag',
      table: 'plants',
      column: 'tag',
      key: ['id'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).dropIndex('plants_tag');
  }
}

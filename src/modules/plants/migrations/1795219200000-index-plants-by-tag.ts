import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createTextIndex, dropIndex } from '../../../platform/database/migration-steps.js';

export class IndexPlantsByTag1795219200000 implements MigrationInterface {
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await createTextIndex(queryRunner, {
      name: 'plants_tag',
      table: 'plants',
      column: 'tag',
      key: ['id'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropIndex(queryRunner, 'plants_tag');
  }
}

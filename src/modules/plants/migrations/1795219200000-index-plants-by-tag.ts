import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createTextIndex } from '../../../platform/database/text-index.js';

export class IndexPlantsByTag1795219200000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createTextIndex(queryRunner, { table: 'plants', column: 'tag', key: 'id' });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX "plants_tag"');
  }
}

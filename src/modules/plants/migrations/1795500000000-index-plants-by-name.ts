import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeSchema, int64, text } from 'durable-rest';

const PLANTS = { name: 'plants', columns: { name: text(), id: int64() } };

/** Stores that version 1.0.0 has created have no index of this name. */
export class IndexPlantsByName1795500000000 implements MigrationInterface {
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createIndex('plants_name', PLANTS, [
      { ignoringCase: 'name' },
      'id',
    ]);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).dropIndex('plants_name');
  }
}

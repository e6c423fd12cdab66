import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeSchema, int64, nullable, text } from 'durable-rest';

const PLANTS = { name: 'plants', columns: { tag: nullable(text()), id: int64() } };

export class IndexPlantsByTagStart1795800000000 implements MigrationInterface {
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    const steps = changeSchema(queryRunner);
    // Some stores have an index of this name on the whole tag, or on its hash.
    await steps.dropIndex('plants_tag');
    await steps.createIndex('plants_tag', PLANTS, [{ ignoringCase: 'tag' }, 'id']);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).dropIndex('plants_tag');
  }
}

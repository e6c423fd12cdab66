import type { MigrationInterface, QueryRunner } from 'typeorm';
import { int64, text } from '../../../platform/database/columns.js';
import { changeSchema } from '../../../platform/database/migration-steps.js';

/** Stores that version 1.0.0 has created have no index of this name. */
export class IndexPlantsByName1795500000000 implements MigrationInterface {
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    // Otherwise an engine may rebuild the indexes of a changed column while it locks the table.
    for (const index of ['plants_tag', 'plants_name'])
      await changeSchema(queryRunner).dropIndex(index);
    await changeSchema(queryRunner).sortByCodePoint('plants', ['name', 'tag']);
    await changeSchema(queryRunner).createIndex({
      name: 'plants_name',
      table: 'plants',
      columns: { name: text(), id: int64() },
      ignoringCase: ['name'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).dropIndex('plants_name');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { instant, int32, int64, nullable, text } from '../../columns.js';
import { changeSchema } from '../../migration-steps.js';

export class CreateChanges1795600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTable({
      name: 'changes',
      columns: {
        number: int64(),
        at: instant(),
        type: text(),
        // The key and the row, as JSON.
        id: text(),
        data: nullable(text()),
      },
      key: ['number'],
    });
    // A single row: the epoch is NULL while the feed is off, and changes up to `removed` are
    // removed.
    await changeSchema(queryRunner).createTable({
      name: 'change_feed',
      columns: { id: int32(), epoch: nullable(text()), removed: int64() },
      key: ['id'],
    });
    await queryRunner.query('INSERT INTO change_feed (id, epoch, removed) VALUES (1, NULL, 0)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('change_feed');
    await queryRunner.dropTable('changes');
  }
}

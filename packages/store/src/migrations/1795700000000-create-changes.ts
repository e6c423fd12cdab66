import type { MigrationInterface, QueryRunner } from 'typeorm';
import { instant, int64, nullable, text } from '../entities/columns.js';
import type { EngineDataSource } from '../engine/engine.js';
import { changeSchema } from './create-table.js';

export class RecreateChanges1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await this.down(queryRunner);
    await changeSchema(queryRunner).createTable({
      name: 'changes',
      columns: {
        number: int64(),
        // Distinguishes the row from one that gets the same number after a restore.
        nonce: text(),
        at: instant(),
        type: text(),
        // The key and the row, as JSON.
        id: text(),
        data: nullable(text()),
      },
      key: ['number'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    // The triggers of an older feed write to another table than the new one.
    await (queryRunner.connection as EngineDataSource).changeLog.switchOff(queryRunner);
    for (const table of ['change_feed', 'changes']) {
      // IF EXISTS would also find the table of another service in the database.
      if (await queryRunner.hasTable(table)) await queryRunner.query(`DROP TABLE ${table}`);
    }
  }
}

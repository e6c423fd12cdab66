import type { QueryRunner } from 'typeorm';
import { instant, int64, nullable, text } from '../columns.js';
import { CreateTable } from '../create-table.js';
import type { StoreDataSource } from '../data-source/store-data-source.js';

export class CreateChanges1795700000000 extends CreateTable({
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
}) {
  override async down(queryRunner: QueryRunner): Promise<void> {
    // Triggers must not write to a table that does not exist.
    await (queryRunner.connection as StoreDataSource).changeLog.switchOff(queryRunner);
    await queryRunner.query('DROP TABLE IF EXISTS change_feed');
    await super.down(queryRunner);
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import {
  decimal,
  instant,
  json,
  nullable,
  oneOf,
  text,
  uuid,
} from '../../../../src/platform/database/columns.js';
import { changeSchema } from '../../../../src/platform/database/migration-steps.js';

export class CreateGardens1795600000001 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTable({
      name: 'gardens',
      columns: {
        id: uuid(),
        name: text(),
        kind: oneOf(),
        area: decimal(12, 2),
        openedAt: instant(),
        note: nullable(text()),
        details: nullable(json()),
      },
      key: ['id'],
      unique: { gardens_name_key: ['name'] },
    });
    await changeSchema(queryRunner).createIndex({
      name: 'gardens_area',
      table: 'gardens',
      columns: { area: decimal(12, 2), id: uuid() },
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('gardens');
  }
}

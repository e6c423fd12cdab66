import type { MigrationInterface, QueryRunner } from 'typeorm';
import { bytes, int32, int64, oneOf, text } from '../../../../src/platform/database/columns.js';
import { changeSchema } from '../../../../src/platform/database/migration-steps.js';

export class CreatePhotos1795600000003 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTable({
      name: 'photos',
      columns: { plantId: int64(), type: oneOf(), length: int32(), hash: text(), data: bytes() },
      key: ['plantId'],
      foreignKeys: [
        {
          columnNames: ['plantId'],
          referencedTableName: 'plants',
          referencedColumnNames: ['id'],
          onDelete: 'CASCADE',
        },
      ],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('photos');
  }
}

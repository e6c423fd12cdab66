import type { MigrationInterface, QueryRunner } from 'typeorm';
import { date, int32, int64, uuid } from '../../../../src/platform/database/columns.js';
import { changeSchema } from '../../../../src/platform/database/migration-steps.js';

export class CreatePlantings1795600000002 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTable({
      name: 'plantings',
      columns: { gardenId: uuid(), plantId: int64(), plantedOn: date(), quantity: int32() },
      key: ['gardenId', 'plantId'],
      foreignKeys: [
        {
          columnNames: ['plantId'],
          referencedTableName: 'plants',
          referencedColumnNames: ['id'],
          onDelete: 'CASCADE',
        },
      ],
    });
    await changeSchema(queryRunner).createIndex({
      name: 'plantings_plantId',
      table: 'plantings',
      columns: { plantId: int64(), gardenId: uuid() },
    });
    await changeSchema(queryRunner).createIndex({
      name: 'plantings_plantedOn',
      table: 'plantings',
      columns: { plantedOn: date(), gardenId: uuid(), plantId: int64() },
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('plantings');
  }
}

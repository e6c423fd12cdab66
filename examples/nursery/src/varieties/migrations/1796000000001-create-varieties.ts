import { type MigrationInterface, type QueryRunner, Table, type TableColumnOptions } from 'typeorm';

export class CreateVarieties1796000000001 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns: TableColumnOptions[] = [
      {
        name: 'id',
        type: 'integer',
        isPrimary: true,
        isGenerated: true,
        generationStrategy: 'increment',
      },
      { name: 'name', type: 'varchar' },
    ];
    await queryRunner.createTable(new Table({ name: 'varieties', columns }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('varieties');
  }
}

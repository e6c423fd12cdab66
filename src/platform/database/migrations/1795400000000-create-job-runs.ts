import type { MigrationInterface, QueryRunner } from 'typeorm';
import { int64, nullable, text } from '../columns.js';
import { changeSchema } from '../migration-steps.js';

export class CreateJobRuns1795400000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTable({
      name: 'job_runs',
      columns: {
        name: text(),
        doneFor: nullable(int64()),
      },
      key: ['name'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('job_runs');
  }
}

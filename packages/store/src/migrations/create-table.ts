import type { Type } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { EngineDataSource } from '../engine/engine.js';
import type { SchemaSteps, TableDefinition } from '../engine/schema-steps.js';

/** Makes the steps of a migration for the engine of its store. */
export function changeSchema(queryRunner: QueryRunner): SchemaSteps {
  const { SchemaSteps } = queryRunner.connection as EngineDataSource;
  return new SchemaSteps(queryRunner);
}

/**
 * Makes the class of a migration that creates a table, with its indexes: `class CreateBeds1 extends
 * CreateTable(table) {}`.
 */
export function CreateTable<Column extends string>(
  table: TableDefinition<Column>,
): Type<MigrationInterface> {
  return class implements MigrationInterface {
    async up(queryRunner: QueryRunner): Promise<void> {
      await changeSchema(queryRunner).createTable(table);
    }

    async down(queryRunner: QueryRunner): Promise<void> {
      await queryRunner.dropTable(table.name);
    }
  };
}

import type { Type } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { EngineDataSource } from '../engine/engine.js';
import type { SchemaSteps, TableDefinition } from '../engine/schema-steps.js';

/**
 * Makes the steps of a migration for the engine of its store: `createTable()`, `addColumn()`,
 * `createIndex()` and `dropIndex()`. A migration that creates an index on a table in use has
 * `readonly transaction = false`.
 *
 * @example
 * ```ts
 * class AddTag1795500000000 implements MigrationInterface {
 *   async up(queryRunner: QueryRunner): Promise<void> {
 *     const column = { table: 'plants', column: 'tag', type: nullable(text()) };
 *     await changeSchema(queryRunner).addColumn(column);
 *   }
 *
 *   async down(queryRunner: QueryRunner): Promise<void> {
 *     await queryRunner.dropColumn('plants', 'tag');
 *   }
 * }
 * ```
 */
export function changeSchema(queryRunner: QueryRunner): SchemaSteps {
  const { SchemaSteps } = queryRunner.connection as EngineDataSource;
  return new SchemaSteps(queryRunner);
}

/**
 * Makes the class of a migration that creates a table, with its indexes.
 *
 * @param table with the same types of columns as the entity
 * @example
 * ```ts
 * class CreatePlants1763000000000 extends CreateTable({
 *   name: 'plants',
 *   columns: { id: int64(), name: text(), tag: nullable(text()) },
 *   key: ['id'],
 *   indexes: { plants_name: [{ ignoringCase: 'name' }, 'id'] },
 * }) {}
 * ```
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

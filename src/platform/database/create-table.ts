import type { Type } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { ColumnType } from './columns.js';
import { changeSchema, type TableDefinition } from './migration-steps.js';

interface Definition<Column extends string> extends TableDefinition {
  readonly columns: Readonly<Record<Column, ColumnType>>;
  readonly key: readonly NoInfer<Column>[];
  /**
   * The indexes by their names: their columns in order, or the first 64 characters of a text, where
   * A to Z equal a to z.
   */
  readonly indexes?: Readonly<
    Record<string, readonly NoInfer<Column | { readonly ignoringCase: Column }>[]>
  >;
}

/**
 * Makes the class of a migration that creates a table with its indexes: `class CreateBeds1 extends
 * CreateTable({ ... }) {}`.
 */
export function CreateTable<Column extends string>({
  indexes = {},
  ...table
}: Definition<Column>): Type<MigrationInterface> {
  return class implements MigrationInterface {
    async up(queryRunner: QueryRunner): Promise<void> {
      const steps = changeSchema(queryRunner);
      await steps.createTable(table);
      for (const [name, parts] of Object.entries(indexes)) {
        const names = parts.map((part) => (typeof part === 'object' ? part.ignoringCase : part));
        await steps.createIndex({
          name,
          table: table.name,
          columns: Object.fromEntries(names.map((column) => [column, table.columns[column]])),
          ignoringCase: parts.flatMap((part) =>
            typeof part === 'object' ? part.ignoringCase : [],
          ),
        });
      }
    }

    async down(queryRunner: QueryRunner): Promise<void> {
      await queryRunner.dropTable(table.name);
    }
  };
}

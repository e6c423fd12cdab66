import type { Type } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { ColumnType } from './columns.js';
import { changeSchema, type TableDefinition } from './migration-steps.js';

interface Definition<Column extends string> extends Omit<TableDefinition, 'foreignKeys'> {
  readonly columns: Readonly<Record<Column, ColumnType>>;
  readonly key: readonly NoInfer<Column>[];
  /**
   * The indexes by their names: their columns in order, or the first 64 characters of a text, where
   * A to Z equal a to z.
   */
  readonly indexes?: Readonly<
    Record<string, readonly NoInfer<Column | { readonly ignoringCase: Column }>[]>
  >;
  /** The columns that hold the `id` of a row in another table. */
  readonly references?: Readonly<Record<string, Reference>>;
}

interface Reference {
  readonly table: string;
  /** What happens to the row when the other one is removed. */
  readonly onDelete: 'CASCADE' | 'RESTRICT' | 'SET NULL';
}

/**
 * Makes the class of a migration that creates a table, with its indexes: `class CreateBeds1 extends
 * CreateTable({ ... }) {}`.
 */
export function CreateTable<Column extends string>({
  indexes = {},
  references = {},
  ...table
}: Definition<Column>): Type<MigrationInterface> {
  return class implements MigrationInterface {
    async up(queryRunner: QueryRunner): Promise<void> {
      const steps = changeSchema(queryRunner);
      const foreignKeys = Object.entries(references).map(([column, reference]) => ({
        columnNames: [column],
        referencedTableName: reference.table,
        referencedColumnNames: ['id'],
        onDelete: reference.onDelete,
      }));
      await steps.createTable({ ...table, foreignKeys });
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

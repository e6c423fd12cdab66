import { type QueryRunner, Table, type TableForeignKeyOptions } from 'typeorm';
import type { ColumnType, NullableType } from './columns.js';
import type {
  IndexDefinition,
  SchemaBuilder,
  TextIndexDefinition,
} from './data-source/schema-builder.js';
import type { StoreDataSource } from './data-source/store-data-source.js';

// Steps for migrations, which also suit a table that is large and in use.

/** A table to create. */
export interface TableDefinition {
  readonly name: string;
  /** The columns by their names, with the same types as in the entity. */
  readonly columns: Readonly<Record<string, ColumnType | NullableType>>;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** Whether the database generates the key, an int64, by counting up. */
  readonly countsUp?: boolean;
  /** Unique constraints by their names: the columns whose values no two rows may share. */
  readonly unique?: Readonly<Record<string, readonly string[]>>;
  readonly foreignKeys?: readonly TableForeignKeyOptions[];
}

export async function createTable(
  queryRunner: QueryRunner,
  { name, columns, key, countsUp = false, unique = {}, foreignKeys = [] }: TableDefinition,
): Promise<void> {
  const builder = getBuilder(queryRunner);
  const table = new Table({
    name,
    columns: Object.entries(columns).map(([column, type]) => {
      const isKey = key.includes(column);
      return {
        ...builder.describeColumn(column, type, isKey && key.length === 1),
        isPrimary: isKey,
        ...(isKey && countsUp && { isGenerated: true, generationStrategy: 'increment' as const }),
      };
    }),
    uniques: Object.entries(unique).map(([constraint, columnNames]) => ({
      name: constraint,
      columnNames: [...columnNames],
    })),
    foreignKeys: [...foreignKeys],
  });
  await queryRunner.createTable(table);
}

/**
 * Adds a column that may be NULL, without rewriting the table.
 *
 * @throws Error of the driver when the table is in use for two minutes
 */
export async function addColumn(
  queryRunner: QueryRunner,
  {
    table,
    column,
    type,
  }: { readonly table: string; readonly column: string; readonly type: ColumnType | NullableType },
): Promise<void> {
  await getBuilder(queryRunner).addColumn(queryRunner, table, column, type);
}

/**
 * Creates an index for an order of pages or a filter. Unless the migration has created the table, it
 * must not run in a transaction, which would block writes meanwhile: `readonly transaction = false`.
 */
export async function createIndex(queryRunner: QueryRunner, index: IndexDefinition): Promise<void> {
  await getBuilder(queryRunner).createIndex(queryRunner, index);
}

/**
 * Creates an index for filtering by a text of any length. Rows without a text have no entry.
 * About the migration see {@link createIndex}.
 */
export async function createTextIndex(
  queryRunner: QueryRunner,
  index: TextIndexDefinition,
): Promise<void> {
  await getBuilder(queryRunner).createTextIndex(queryRunner, index);
}

export async function dropIndex(queryRunner: QueryRunner, name: string): Promise<void> {
  await getBuilder(queryRunner).dropIndex(queryRunner, name);
}

/** Sorts texts by code point in a table that was created without `text()`. */
export async function sortByCodePoint(
  queryRunner: QueryRunner,
  table: string,
  columns: readonly string[],
): Promise<void> {
  await getBuilder(queryRunner).sortByCodePoint(queryRunner, table, columns);
}

function getBuilder({ connection }: QueryRunner): SchemaBuilder {
  return (connection as StoreDataSource).schemaBuilder;
}

import { type QueryRunner, Table, type TableForeignKeyOptions } from 'typeorm';
import type { ColumnType, NullableType } from './columns.js';
import type {
  IndexDefinition,
  SchemaBuilder,
  TextIndexDefinition,
} from './data-source/schema-builder.js';
import type { StoreDataSource } from './data-source/store-data-source.js';

// The steps of migrations. Each is right for a table that is large and in use.

/** A table to create. */
export interface TableDefinition {
  readonly name: string;
  /** The columns by their names, with the types that the entity has too. */
  readonly columns: Readonly<Record<string, ColumnType | NullableType>>;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** Whether the store counts the key up, which is an int64 then. */
  readonly countsUp?: boolean;
  /** Groups of columns that no two rows may have the same values in. */
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
 * Adds a column that may be NULL to a table that may be large and in use. No row is written.
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
 * Creates an index for an order of pages. Its migration must not run in a transaction, since nobody
 * could write to the table meanwhile: `readonly transaction = false`.
 */
export async function createIndex(queryRunner: QueryRunner, index: IndexDefinition): Promise<void> {
  await getBuilder(queryRunner).createIndex(queryRunner, index);
}

/**
 * Creates an index by which pages find rows with a text of any length. It has no entry for a row
 * without one. Its migration must not run in a transaction: `readonly transaction = false`.
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

/** Lets texts be sorted by code point, in a table that was made without `text()`. */
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

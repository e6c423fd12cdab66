import type { QueryRunner, TableColumnOptions } from 'typeorm';
import { sortExpression } from '../batching/sql-builder.js';
import type { ColumnType, NullableType } from '../columns.js';
import {
  type IndexDefinition,
  isNullable,
  listIndexedColumns,
  type SchemaBuilder,
  type TextIndexDefinition,
} from '../data-source/schema-builder.js';
import { withBriefLocks } from './brief-table-locks.js';
import { postgresDialect, TEXT_HASH_FUNCTION } from './postgres-dialect.js';

/** Other programs use the database meanwhile, so nothing here blocks a table for long. */
export const postgresSchemaBuilder: SchemaBuilder = {
  describeColumn(name: string, type: ColumnType | NullableType): TableColumnOptions {
    const { type: typeName, collation, precision, default: standard } = type;
    return {
      name,
      type: typeName,
      isNullable: isNullable(type),
      ...(collation !== undefined && { collation }),
      ...(precision !== undefined && precision !== null && { precision }),
      ...(standard !== undefined && { default: standard }),
    };
  },

  async addColumn(
    queryRunner: QueryRunner,
    table: string,
    name: string,
    type: ColumnType | NullableType,
  ): Promise<void> {
    const { driver } = queryRunner.connection;
    const collation = type.collation === undefined ? '' : ` COLLATE "${type.collation}"`;
    await alterTable(
      queryRunner,
      `ALTER TABLE ${driver.escape(table)}
       ADD COLUMN ${driver.escape(name)} ${driver.createFullType({ ...type } as never)}${collation}`,
    );
  },

  async createIndex(queryRunner: QueryRunner, index: IndexDefinition): Promise<void> {
    const { driver } = queryRunner.connection;
    const indexed = listIndexedColumns(index).map(({ name, type, ignoresCase }) => {
      const column = { type: type.type, isNullable: isNullable(type) };
      const sql = sortExpression(postgresDialect, driver.escape(name), column, ignoresCase);
      // An index needs parentheses around an expression.
      return ignoresCase || column.isNullable ? `(${sql})` : sql;
    });
    const unique = index.isUnique === true ? 'UNIQUE ' : '';
    await createIndex(queryRunner, index.table, index.name, unique, indexed.join(', '));
  },

  async createTextIndex(
    queryRunner: QueryRunner,
    { name, table, column, key }: TextIndexDefinition,
  ): Promise<void> {
    const { driver } = queryRunner.connection;
    // convert_to() is only STABLE, since it depends on the encoding of the database, which is UTF-8 here.
    await queryRunner.query(
      `CREATE OR REPLACE FUNCTION ${TEXT_HASH_FUNCTION}(text) RETURNS bytea
       LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
       AS $$ SELECT sha256(convert_to($1, 'UTF8')) $$`,
    );
    const existing = await findIndex(queryRunner, name);
    if (existing !== undefined && !existing.definition.includes(TEXT_HASH_FUNCTION)) {
      await dropIndex(queryRunner, name);
    }
    const text = driver.escape(column);
    const keys = key.map((part) => driver.escape(part)).join(', ');
    const indexed = `${TEXT_HASH_FUNCTION}(${text}), ${keys}`;
    await createIndex(queryRunner, table, name, '', indexed, `WHERE ${text} IS NOT NULL`);
  },

  dropIndex,

  async sortByCodePoint(
    queryRunner: QueryRunner,
    table: string,
    columns: readonly string[],
  ): Promise<void> {
    const { driver } = queryRunner.connection;
    const changes = columns.map(
      (column) => `ALTER COLUMN ${driver.escape(column)} TYPE text COLLATE "C"`,
    );
    await alterTable(queryRunner, `ALTER TABLE ${driver.escape(table)} ${changes.join(', ')}`);
  },
};

async function alterTable(queryRunner: QueryRunner, sql: string): Promise<void> {
  await withBriefLocks(queryRunner, () => queryRunner.query(sql));
}

/** @throws TypeError in a transaction that has not created the table: others could not write to it */
async function createIndex(
  queryRunner: QueryRunner,
  table: string,
  name: string,
  unique: string,
  indexed: string,
  condition = '',
): Promise<void> {
  const { driver } = queryRunner.connection;
  const existing = await findIndex(queryRunner, name);
  if (existing?.isValid === true) return;
  // A program ended while it was creating the index.
  if (existing !== undefined) await dropIndex(queryRunner, name);
  const create = (how: string): Promise<unknown> =>
    queryRunner.query(
      `CREATE ${unique}INDEX ${how} ${driver.escape(name)} ON ${driver.escape(table)} (${indexed}) ${condition}`,
    );
  if (!queryRunner.isTransactionActive) {
    await create('CONCURRENTLY');
    return;
  }
  // The row type of a table is written only when the table is created.
  const known = (await queryRunner.query(
    'SELECT 1 FROM pg_type WHERE typrelid = $1::regclass AND age(xmin) <> 0',
    [driver.escape(table)],
  )) as unknown[];
  if (known.length > 0) {
    throw new TypeError(
      `The index ${name} cannot be created inside a transaction, since nobody could write to ${table} meanwhile: give the migration "readonly transaction = false"`,
    );
  }
  await create('');
}

async function dropIndex(queryRunner: QueryRunner, name: string): Promise<void> {
  const how = queryRunner.isTransactionActive ? '' : 'CONCURRENTLY';
  await queryRunner.query(
    `DROP INDEX ${how} IF EXISTS ${queryRunner.connection.driver.escape(name)}`,
  );
}

async function findIndex(
  queryRunner: QueryRunner,
  name: string,
): Promise<{ definition: string; isValid: boolean } | undefined> {
  const [index] = (await queryRunner.query(
    `SELECT pg_get_indexdef(indexrelid) AS definition, indisvalid AS "isValid"
     FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
     WHERE relname = $1 AND relnamespace = current_schema()::regnamespace`,
    [name],
  )) as { definition: string; isValid: boolean }[];
  return index;
}

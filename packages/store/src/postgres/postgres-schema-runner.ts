import {
  type EntityMetadata,
  type Table,
  TableColumn,
  type TableIndex,
  TypeORMError,
} from 'typeorm';
import { Query } from 'typeorm/driver/Query.js';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import type { SqlInMemory } from 'typeorm/driver/SqlInMemory.js';
import type { StoredColumn, StoredTable } from '../engine/engine.js';
import { isComputed, isCounter } from '../entities/supported-entities.js';
import { StoreSchemaBuilder } from '../engine/schema-builder.js';
import { readDefault } from './postgres-defaults.js';
import { CURRENT_SCHEMA } from './postgres-schema-steps.js';

/** The statements that scan a table while nobody can write to it; the table is their group. */
const BLOCKING = [
  /^CREATE (?:UNIQUE )?INDEX .* ON (?:"\w+"\.)?"(\w+)"/,
  /^ALTER TABLE (?:"\w+"\.)?"(\w+)" ALTER COLUMN "[^"]*" (?:TYPE|SET NOT NULL)/,
  /^ALTER TABLE (?:"\w+"\.)?"(\w+)" ADD CONSTRAINT/,
  /^ALTER TABLE (?:"\w+"\.)?"(\w+)" ADD "[^"]*" .*(?:SERIAL\b|DEFAULT \w+\()/,
];

/** Indexes as the server writes them. */
const LIST_INDEXES = `
  SELECT relname AS name, pg_get_indexdef(indexrelid) AS sql
  FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE relnamespace = ${CURRENT_SCHEMA}`;
/** An index that TypeORM writes as it is. It does not know the order of several columns. */
const PLAIN_INDEX = / USING btree \((?:\w+|"[^"]+")\)(?: WHERE .*)?$/;

/** Unique constraints of several columns, with these in their order. */
const LIST_UNIQUES = `
  SELECT conname AS name, array_agg(attname::text ORDER BY position) AS columns
  FROM pg_constraint
  CROSS JOIN unnest(conkey) WITH ORDINALITY AS part (number, position)
  JOIN pg_attribute ON attrelid = conrelid AND attnum = number
  WHERE contype = 'u' AND connamespace = ${CURRENT_SCHEMA}
  GROUP BY conrelid, conname`;

const LIST_DEFAULTS = `
  SELECT relname AS "table", attname AS "column", pg_get_expr(adbin, adrelid) AS sql
  FROM pg_attrdef
  JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
  JOIN pg_class ON pg_class.oid = adrelid
  WHERE relnamespace = ${CURRENT_SCHEMA}`;

/**
 * The columns of a table. One without a value in a row gets it from its identity, from the function
 * of its default value, or from a trigger before the row.
 */
const LIST_COLUMNS = `
  SELECT attname AS name, format_type(atttypid, atttypmod) AS type,
         coalesce(attnum = ANY (conkey), false) AS "isKey",
         attidentity <> ''
           OR coalesce(pg_get_expr(adbin, adrelid) LIKE '%(%', false)
           OR EXISTS (SELECT 1 FROM pg_trigger
                      WHERE tgrelid = pg_class.oid AND tgtype & 7 = 7) AS "isGenerated"
  FROM pg_class
  JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_constraint ON conrelid = pg_class.oid AND contype = 'p'
  LEFT JOIN pg_attrdef ON adrelid = pg_class.oid AND adnum = attnum
  WHERE pg_class.oid = to_regclass($1) AND relkind IN ('r', 'p')
  ORDER BY attnum`;

const LIST_TABLE_INDEXES = `
  SELECT relname AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE indrelid = to_regclass($1) AND indisvalid`;

/** The default value of a column as the server writes it. */
interface Default {
  readonly table: string;
  readonly column: string;
  readonly sql: string;
}

/** Names the generated statements that block writes to a table in use. */
export class PostgresSchemaBuilder extends StoreSchemaBuilder {
  override async log(): Promise<SqlInMemory> {
    const sql = await super.log();
    const statements = sql.upQueries.map(({ query }) => query);
    for (const statement of statements) {
      const table = BLOCKING.map((pattern) => pattern.exec(statement)?.[1]).find(Boolean);
      const isNew = statements.some((other) => other.startsWith(`CREATE TABLE "${table}"`));
      if (table === undefined || isNew) continue;
      console.warn(
        `Nobody can write to ${table} during this statement, whose time grows with its rows. The page typeorm.md of durable-rest says how to change a table in use:\n  ${statement}`,
      );
    }
    return sql;
  }
}

/** TypeORM's query runner, with changes of tables that lose nothing. */
export class PostgresSchemaRunner extends PostgresQueryRunner {
  readonly generationRule =
    'be an identity, or have a function as its default, such as nextval() or gen_random_uuid()';
  /** The loaded indexes that TypeORM would write differently, by what it would write. */
  private readonly indexes = new Map<string, string>();

  async readTable({ tablePath }: EntityMetadata): Promise<StoredTable | undefined> {
    const name = this.escapePath(tablePath);
    const columns = (await this.query(LIST_COLUMNS, [name])) as StoredColumn[];
    if (columns.length === 0) return undefined;
    const indexes = (await this.query(LIST_TABLE_INDEXES, [name])) as { name: string }[];
    return { columns, indexes: indexes.map((index) => index.name) };
  }

  /** Adds to the loaded tables what TypeORM has not read of them, or read differently. */
  protected override async loadTables(names?: string[]): Promise<Table[]> {
    const tables = await super.loadTables(names);
    const indexes = (await this.query(LIST_INDEXES)) as { name: string; sql: string }[];
    const uniques = (await this.query(LIST_UNIQUES)) as { name: string; columns: string[] }[];
    const defaults = (await this.query(LIST_DEFAULTS)) as Default[];
    for (const table of tables) {
      for (const index of table.indices) {
        const { sql = '' } = indexes.find(({ name }) => name === index.name) ?? {};
        const isOwn = sql === '' || PLAIN_INDEX.test(sql);
        if (!isOwn) this.indexes.set(super.createIndexSql(table, index).query, sql);
      }
      for (const unique of table.uniques) {
        const { columns } = uniques.find(({ name }) => name === unique.name) ?? {};
        if (columns !== undefined) unique.columnNames = columns;
      }
      const own = defaults.filter((value) => value.table === table.name);
      for (const column of table.columns) {
        const { sql } = own.find((value) => value.column === column.name) ?? {};
        const isRead = typeof column.default === 'string';
        if (isRead && sql !== undefined) column.default = readDefault(sql);
      }
    }
    return tables;
  }

  /** An index that TypeORM would write differently is created as it was. */
  protected override createIndexSql(table: Table, index: TableIndex): Query {
    const own = super.createIndexSql(table, index);
    return new Query(this.indexes.get(own.query) ?? own.query);
  }

  /** Widens a column, or refuses another type, where TypeORM would drop the column with its values. */
  override async changeColumn(
    tableOrName: Table | string,
    columnOrName: TableColumn | string,
    newColumn: TableColumn,
  ): Promise<void> {
    const table =
      typeof tableOrName === 'string' ? await this.getCachedTable(tableOrName) : tableOrName;
    const column =
      typeof columnOrName === 'string' ? table.findColumnByName(columnOrName) : columnOrName;
    if (column === undefined) {
      await super.changeColumn(table, columnOrName, newColumn);
      return;
    }
    // TypeORM would drop the values that were given, or the indexes of those that were computed.
    if (isComputed(column) !== isComputed(newColumn))
      throw refuseLoss(table, column, 'ALTER TABLE');
    if (hasOtherType(column, newColumn)) await this.widenColumn(table, column, newColumn);
    // A new sequence begins at 1, also the one that undoing this change makes.
    const [counted, counts] = [isCounter(column), isCounter(newColumn)];
    if (counted && !counts) await this.executeQueries([], this.writeGoOn(table, newColumn));
    await super.changeColumn(table, column, newColumn);
    if (counts && !counted) await this.executeQueries(this.writeGoOn(table, newColumn), []);
  }

  /** Has a sequence count on behind the rows of its table. */
  private writeGoOn(table: Table, column: TableColumn): Query {
    const sequence = this.escapePath(this.buildSequencePath(table, column));
    return new Query(
      `SELECT setval('${sequence}', greatest(max("${column.name}"), 0) + 1, false) FROM ${this.escapePath(table)}`,
    );
  }

  /** @throws TypeORMError when the new type does not hold all values of the old one */
  private async widenColumn(table: Table, column: TableColumn, to: TableColumn): Promise<void> {
    const { name } = column;
    if (!holdsAllOf(to, column)) {
      const change = `${this.writeType(table, column, to)} USING "${name}"::${this.driver.createFullType(to)}`;
      throw refuseLoss(table, column, change);
    }
    await this.executeQueries(
      new Query(this.writeType(table, column, to)),
      new Query(this.writeType(table, to, column)),
    );
    if (isCounter(column) && isCounter(to)) {
      const sequence = this.escapePath(this.buildSequencePath(table, column));
      const write = ({ type }: TableColumn): Query =>
        new Query(`ALTER SEQUENCE ${sequence} AS ${type}`);
      await this.executeQueries(write(to), write(column));
    }
    const { type, length, collation } = to;
    Object.assign(column, { type, length, collation });
  }

  private writeType(table: Table, from: TableColumn, to: TableColumn): string {
    const type = this.driver.createFullType(to);
    return `ALTER TABLE ${this.escapePath(table)} ALTER COLUMN "${from.name}" TYPE ${type}${writeCollation(from, to)}`;
  }
}

/** Whether TypeORM would replace the column by a new one. */
function hasOtherType(from: TableColumn, to: TableColumn): boolean {
  const isSame = from.type === to.type && from.length === to.length && from.isArray === to.isArray;
  // TypeORM leaves the length out when it changes the collation.
  return !(isSame && from.collation === to.collation) && !isComputed(to);
}

/** From the narrowest to the widest. */
const INTEGERS = ['smallint', 'integer', 'bigint'];
// A migration may use the short name.
const TEXTS = ['character varying', 'varchar', 'text'];

/** Whether each value of a column is also one of another type, and stays as it is. */
function holdsAllOf(to: TableColumn, from: TableColumn): boolean {
  if (to.isArray || from.isArray) return false;
  if (INTEGERS.includes(from.type)) {
    return INTEGERS.indexOf(to.type) >= INTEGERS.indexOf(from.type);
  }
  const areTexts = TEXTS.includes(to.type) && TEXTS.includes(from.type);
  return areTexts && getLength(to) >= getLength(from);
}

function getLength({ length }: TableColumn): number {
  return length === '' ? Infinity : Number(length);
}

function writeCollation(from: TableColumn, to: TableColumn): string {
  if (to.collation !== undefined) return ` COLLATE "${to.collation}"`;
  return from.collation === undefined ? '' : ' COLLATE pg_catalog."default"';
}

/** @param change what a migration by hand needs */
function refuseLoss(table: Table, { name }: TableColumn, change: string): TypeORMError {
  return new TypeORMError(
    `TypeORM would drop ${table.name}.${name} with its values or indexes to change its type: write the migration by hand, with ${change}`,
  );
}

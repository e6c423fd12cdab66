import {
  type DataSource,
  type QueryRunner,
  Table,
  TableColumn,
  type TableColumnOptions,
  type TableForeignKeyOptions,
} from 'typeorm';
import type { SqlDialect } from './batching/sql-builder.js';
import type { ColumnType } from './columns.js';

/** A table to create. */
export interface TableDefinition {
  readonly name: string;
  /** The columns by their names, with the same types as in the entity. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** Whether the database generates the key, an int64, by counting up. */
  readonly countsUp?: boolean;
  /** Unique constraints by their names: the columns whose values no two rows may share. */
  readonly unique?: Readonly<Record<string, readonly string[]>>;
  readonly foreignKeys?: readonly TableForeignKeyOptions[];
}

/** A column to add. */
export interface ColumnDefinition {
  readonly table: string;
  readonly column: string;
  readonly type: ColumnType;
}

/** An index to create. Rows without a value in its first column have no entry. */
export interface IndexDefinition {
  readonly name: string;
  readonly table: string;
  /** The columns in their order, by their names. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /**
   * The columns that are indexed by the first 64 characters of their texts, regardless of the case
   * of A to Z.
   */
  readonly ignoringCase?: readonly string[];
}

/** A type as an engine writes it. */
export type TypeOptions = Pick<TableColumnOptions, 'type' | 'collation' | 'precision'>;

/** A data source that makes the steps for its engine. */
export interface SchemaChanger extends DataSource {
  readonly dialect: SqlDialect;
  readonly SchemaSteps: new (queryRunner: QueryRunner) => SchemaSteps;
}

/** Makes the steps of a migration for the engine of its store. */
export function changeSchema(queryRunner: QueryRunner): SchemaSteps {
  const { SchemaSteps } = queryRunner.connection as SchemaChanger;
  return new SchemaSteps(queryRunner);
}

/** Steps of a migration, which also suit a table that is large and in use. */
export abstract class SchemaSteps {
  constructor(protected readonly queryRunner: QueryRunner) {}

  async createTable({
    name,
    columns,
    key,
    countsUp = false,
    unique = {},
    foreignKeys = [],
  }: TableDefinition): Promise<void> {
    const table = new Table({
      name,
      columns: Object.entries(columns).map(([column, type]) => {
        const isKey = key.includes(column);
        return {
          ...this.describeColumn(column, type, isKey && key.length === 1),
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
    await this.queryRunner.createTable(table);
  }

  /**
   * Adds a column that may be NULL, without rewriting the table.
   *
   * @throws Error of the driver when the table is in use for two minutes
   */
  async addColumn({ table, column, type }: ColumnDefinition): Promise<void> {
    const described = new TableColumn(this.describeColumn(column, type, false));
    const fullType = this.queryRunner.connection.driver.createFullType(described);
    const collation = described.collation === undefined ? '' : `COLLATE "${described.collation}"`;
    await this.alterTable(table, `ADD COLUMN ${this.escape(column)} ${fullType} ${collation}`);
  }

  /**
   * Creates an index for an order of pages or a filter, unless it exists. Unless the migration has
   * created the table, it must not run in a transaction, which would block writes meanwhile:
   * `readonly transaction = false`.
   */
  async createIndex({ name, table, columns, ignoringCase = [] }: IndexDefinition): Promise<void> {
    const how = await this.prepareIndex(name, table);
    if (how === undefined) return;
    const { dialect } = this.queryRunner.connection as SchemaChanger;
    const indexed = Object.entries(columns).map(([column, { type }]) => {
      const ignoresCase = ignoringCase.includes(column);
      const sql = dialect.sorted(this.escape(column), type, ignoresCase);
      // An index needs parentheses around an expression.
      return ignoresCase ? `(${sql})` : sql;
    });
    const [first] = Object.entries(columns);
    const condition =
      first !== undefined && isNullable(first[1])
        ? `WHERE ${this.escape(first[0])} IS NOT NULL`
        : '';
    await this.queryRunner.query(
      `CREATE INDEX ${how} ${this.escape(name)} ON ${this.escape(table)} (${indexed.join(', ')}) ${condition}`,
    );
  }

  abstract dropIndex(name: string): Promise<void>;

  /** @param isOnlyKey whether the column alone is the primary key */
  private describeColumn(name: string, type: ColumnType, isOnlyKey: boolean): TableColumnOptions {
    const { default: standard } = type;
    return {
      ...this.describeType(type, isOnlyKey),
      ...(standard !== undefined && { default: standard }),
      name,
      isNullable: isNullable(type),
    };
  }

  protected abstract describeType(type: ColumnType, isOnlyKey: boolean): TypeOptions;

  /** Returns how to create an index: a part of the statement; undefined if the index exists. */
  protected abstract prepareIndex(name: string, table: string): Promise<string | undefined>;

  /** Executes an ALTER TABLE, without blocking other statements on the table for long. */
  protected abstract alterTable(table: string, change: string): Promise<void>;

  protected escape(name: string): string {
    return this.queryRunner.connection.driver.escape(name);
  }
}

function isNullable(type: ColumnType): boolean {
  return 'nullable' in type;
}

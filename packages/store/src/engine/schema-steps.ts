import { type QueryRunner, Table, TableColumn, type TableColumnOptions } from 'typeorm';
import type { ColumnType } from '../entities/columns.js';
import type { EngineDataSource } from './engine.js';

/** A table to create. */
export interface TableDefinition<Column extends string> {
  readonly name: string;
  /** The columns by their names, with the same types as in the entity. */
  readonly columns: Readonly<Record<Column, ColumnType>>;
  /** The columns of the primary key. */
  readonly key: readonly NoInfer<Column>[];
  /** Whether the database generates the key, an int64, by counting up. */
  readonly countsUp?: boolean;
  /** Unique constraints by their names: the columns whose values no two rows may share. */
  readonly unique?: Readonly<Record<string, readonly NoInfer<Column>[]>>;
  /** The indexes by their names. */
  readonly indexes?: Readonly<Record<string, readonly IndexPart<NoInfer<Column>>[]>>;
  /** The columns that hold the key of a row in another table. */
  readonly references?: Readonly<Partial<Record<NoInfer<Column>, Reference>>>;
}

/**
 * A part of an index: a column, or the first 64 characters of a text, where A to Z equal a to z.
 */
export type IndexPart<Column extends string> = Column | { readonly ignoringCase: Column };

interface Reference {
  readonly table: string;
  /** The column of its key, `id` by default. */
  readonly column?: string;
  /** The effect on the row when the other one is removed. */
  readonly onDelete: 'CASCADE' | 'RESTRICT' | 'SET NULL';
}

/** A column to add. */
export interface ColumnDefinition {
  readonly table: string;
  readonly column: string;
  readonly type: ColumnType;
}

/** A type as an engine writes it. */
export type TypeOptions = Pick<TableColumnOptions, 'type' | 'collation' | 'precision'>;

/** Steps of a migration, which also suit a table that is large and in use. */
export abstract class SchemaSteps {
  constructor(protected readonly queryRunner: QueryRunner) {}

  /** Creates a table with its indexes. */
  async createTable<Column extends string>(definition: TableDefinition<Column>): Promise<void> {
    const { name, countsUp = false, unique = {}, indexes = {}, references = {} } = definition;
    const columns = Object.entries<ColumnType>(definition.columns);
    const key: readonly string[] = definition.key;
    const table = new Table({
      name,
      columns: columns.map(([column, type]) => {
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
      foreignKeys: Object.entries<Reference>(references).map(([column, reference]) => ({
        columnNames: [column],
        referencedTableName: reference.table,
        referencedColumnNames: [reference.column ?? 'id'],
        onDelete: reference.onDelete,
      })),
    });
    await this.queryRunner.createTable(table);
    for (const [index, parts] of Object.entries(indexes)) {
      await this.createIndex(index, definition, parts);
    }
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
   * Creates an index for an order of pages or a filter, unless it exists. Rows without a value in
   * its first column have no entry. Unless the migration has created the table, it must not run in
   * a transaction, which would block writes until the index is created: the migration has
   * `readonly transaction = false`.
   *
   * @param table its name, and at least the columns of the index
   */
  async createIndex<Column extends string>(
    name: string,
    table: Pick<TableDefinition<Column>, 'name' | 'columns'>,
    parts: readonly IndexPart<NoInfer<Column>>[],
  ): Promise<void> {
    const how = await this.prepareIndex(name, table.name);
    if (how === undefined) return;
    const { dialect } = this.queryRunner.connection as EngineDataSource;
    const indexed = parts.map((part) => {
      const ignoresCase = typeof part === 'object';
      const column = ignoresCase ? part.ignoringCase : part;
      const type = table.columns[column];
      const sql = dialect.sorted(this.escape(column), type.type, ignoresCase);
      // An index needs parentheses around an expression.
      return { column, type, sql: ignoresCase ? `(${sql})` : sql };
    });
    const [first] = indexed;
    const condition =
      first !== undefined && isNullable(first.type)
        ? `WHERE ${this.escape(first.column)} IS NOT NULL`
        : '';
    const list = indexed.map(({ sql }) => sql).join(', ');
    await this.queryRunner.query(
      `CREATE INDEX ${how} ${this.escape(name)} ON ${this.escape(table.name)} (${list}) ${condition}`,
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

import type { ColumnType } from '../entities/columns.js';
import { SchemaSteps, type TypeOptions } from '../engine/schema-steps.js';

/** The declared types of columns for which SQLite has no type. */
export const SQLITE_TYPES: Readonly<Record<string, string>> = {
  'timestamp with time zone': 'text',
  uuid: 'varchar',
  bytea: 'blob',
};

/**
 * Finds the declared type of a column, for its migration and for TypeORM's comparison of tables.
 *
 * @param isOnlyKey whether the column alone is the primary key
 */
export function toSqliteType(type: string, isOnlyKey: boolean): string {
  // Exactly this type makes the key the rowid: one B-tree, and int64 enforced.
  if (isOnlyKey && type === 'bigint') return 'integer';
  return SQLITE_TYPES[type] ?? type;
}

/** No other program uses the file during a migration, so no step has to avoid locks. */
export class SqliteSchemaSteps extends SchemaSteps {
  /** The addColumn() of TypeORM would copy the whole table. */
  protected async alterTable(table: string, change: string): Promise<void> {
    await this.queryRunner.query(`ALTER TABLE ${this.escape(table)} ${change}`);
  }

  protected prepareIndex(): Promise<string> {
    return Promise.resolve('IF NOT EXISTS');
  }

  async dropIndex(name: string): Promise<void> {
    await this.queryRunner.query(`DROP INDEX IF EXISTS ${this.escape(name)}`);
  }

  protected describeType({ type }: ColumnType, isOnlyKey: boolean): TypeOptions {
    return { type: toSqliteType(type, isOnlyKey) };
  }
}

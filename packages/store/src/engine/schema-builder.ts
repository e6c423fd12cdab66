import { MigrationExecutor, TypeORMError } from 'typeorm';
import { Query } from 'typeorm/driver/Query.js';
import type { SqlInMemory } from 'typeorm/driver/SqlInMemory.js';
import type { UniqueMetadata } from 'typeorm/metadata/UniqueMetadata.js';
import { RdbmsSchemaBuilder } from 'typeorm/schema-builder/RdbmsSchemaBuilder.js';
import { writeMark } from './migration-executor.js';
import type { StoreQueryRunner } from './engine.js';
import { listMissingIndexes } from './stored-tables.js';

/**
 * TypeORM's builder of schemas. It drops the indexes and unique constraints that have a changed
 * column among others, and creates only those again that the entities declare. Here columns are
 * changed in place or copied with their indexes, so nothing has to be dropped before.
 */
export class StoreSchemaBuilder extends RdbmsSchemaBuilder {
  /**
   * Writes what the entities need and the store lacks, for commands such as `migration:generate`.
   *
   * @throws TypeORMError when the store lacks migrations, which would be generated a second time
   */
  override async log(): Promise<SqlInMemory> {
    const [missing] = await new MigrationExecutor(this.connection).getPendingMigrations();
    if (missing !== undefined) {
      throw new TypeORMError(
        `The store lacks migrations, such as ${missing.name}: first execute them with migration:run`,
      );
    }
    const sql = await super.log();
    for (const line of await this.listMissingIndexes()) console.warn(line);
    if (sql.upQueries.length === 0) return sql;
    const { type } = this.connection.options;
    console.warn(
      `These statements are for ${type} only. A migration for each engine is written by hand, with CreateTable or changeSchema(queryRunner)`,
    );
    sql.upQueries.unshift(new Query(writeMark(type)));
    // The statements that undo the change are executed in reverse order.
    sql.downQueries.push(new Query(writeMark(type)));
    return sql;
  }

  private async listMissingIndexes(): Promise<string[]> {
    const reader = this.connection.createQueryRunner() as StoreQueryRunner;
    return await listMissingIndexes(reader).finally(() => reader.release());
  }

  protected override async dropColumnCompositeIndices(): Promise<void> {
    // They stay.
  }

  protected override async dropColumnCompositeUniques(): Promise<void> {
    // They stay.
  }

  /** TypeORM compares unique constraints of several columns by their names alone. */
  protected override async dropCompositeUniqueConstraints(): Promise<void> {
    await super.dropCompositeUniqueConstraints();
    // getTables() would read all tables anew, also the tables of other modules, whose names it may
    // not quote.
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- TypeORM's builder uses it itself
    const { loadedTables } = this.queryRunner;
    for (const { tablePath, uniques } of this.entityToSyncMetadatas) {
      const table = loadedTables.find(({ name }) => name === tablePath);
      const changed = (table?.uniques ?? []).filter(
        ({ name, columnNames }) =>
          columnNames.length > 1 &&
          uniques.some((unique) => unique.name === name && !hasColumns(unique, columnNames)),
      );
      if (changed.length > 0) await this.queryRunner.dropUniqueConstraints(tablePath, changed);
    }
  }
}

function hasColumns({ columns }: UniqueMetadata, names: readonly string[]): boolean {
  const own = columns.map(({ databaseName }) => databaseName);
  return own.length === names.length && own.every((name) => names.includes(name));
}

/**
 * Completes the SQL that TypeORM writes for the default value of a column: it puts a text into
 * quotes, but leaves the quotes in the text as they are. Quotes that are doubled already stay,
 * except in JSON, which an entity has as a value.
 *
 * @param value the default value of the entity
 */
export function escapeDefault(sql: string | undefined, value: unknown): string | undefined {
  if (typeof value === 'function' || sql?.startsWith("'") !== true) return sql;
  const text = sql.slice(1, -1);
  const isJson = text === JSON.stringify(value);
  const escaped = text.replace(/'+/g, (quotes) =>
    isJson ? quotes + quotes : quotes + "'".repeat(quotes.length % 2),
  );
  return `'${escaped}'`;
}

import type { UniqueMetadata } from 'typeorm/metadata/UniqueMetadata.js';
import { RdbmsSchemaBuilder } from 'typeorm/schema-builder/RdbmsSchemaBuilder.js';

/**
 * TypeORM's builder of schemas. It drops the indexes and unique constraints that have a changed
 * column among others, and creates only those again that the entities declare. Here columns are
 * changed in place or copied with their indexes, so nothing has to be dropped before.
 */
export class StoreSchemaBuilder extends RdbmsSchemaBuilder {
  protected override async dropColumnCompositeIndices(): Promise<void> {
    // They stay.
  }

  protected override async dropColumnCompositeUniques(): Promise<void> {
    // They stay.
  }

  /** TypeORM compares unique constraints of several columns by their names alone. */
  protected override async dropCompositeUniqueConstraints(): Promise<void> {
    await super.dropCompositeUniqueConstraints();
    // getTables() would read them anew, also those of other modules, whose names it may not quote.
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
 * quotes, but leaves those in the text as they are. Those that are doubled already stay, except in
 * JSON, which an entity gives as a value.
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

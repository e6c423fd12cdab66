import { type EntityMetadata, TypeORMError } from 'typeorm';
import type { StoredTable, StoreQueryRunner } from './engine.js';

/**
 * Compares the keys of the tables with the entities. Programs of two versions may use the store at
 * the same time, so nothing else is compared.
 *
 * @throws TypeORMError for a table that would not generate a key as its entity declares
 */
export async function assertKeys(reader: StoreQueryRunner): Promise<void> {
  for (const entity of reader.connection.entityMetadatas) {
    // A child has the table of its parent.
    if (!hasOwnTable(entity) || entity.tableType === 'entity-child') continue;
    const table = await reader.readTable(entity);
    if (table !== undefined) assertKey(entity, table, reader);
  }
}

/** Lists the indexes that entities leave to migrations, and that the store lacks: a line for each. */
export async function listMissingIndexes(reader: StoreQueryRunner): Promise<string[]> {
  const lines = new Set<string>();
  for (const entity of reader.connection.entityMetadatas.filter(hasOwnTable)) {
    const declared = entity.indices.filter(({ synchronize }) => !synchronize);
    if (declared.length === 0) continue;
    const table = await reader.readTable(entity);
    for (const { name } of declared) {
      if (table?.indexes.includes(name) === true) continue;
      lines.add(
        `${entity.tablePath} lacks the index ${name}, which is declared with synchronize: false, so that nothing is generated for it: write it by hand, with createIndex() of changeSchema(queryRunner)`,
      );
    }
  }
  return [...lines];
}

/** Whether TypeORM compares the table of an entity. */
function hasOwnTable({ synchronize, tableType }: EntityMetadata): boolean {
  return synchronize && tableType !== 'view';
}

function assertKey(
  { name, tablePath, columns, primaryColumns }: EntityMetadata,
  table: StoredTable,
  { connection, generationRule }: StoreQueryRunner,
): void {
  const key = writeNames(table.columns.filter(({ isKey }) => isKey));
  const declared = writeNames(primaryColumns.map((column) => ({ name: column.databaseName })));
  if (key !== declared) {
    throw new TypeORMError(
      `The table ${tablePath} has ${key === '' ? 'no primary key' : `the primary key (${key})`}, and must have (${declared}), which the entity ${name} declares`,
    );
  }
  for (const { databaseName, isGenerated, generationStrategy } of columns) {
    const isMadeByProgram =
      generationStrategy === 'uuid' && !connection.driver.isUUIDGenerationSupported();
    if (!isGenerated || isMadeByProgram) continue;
    const stored = table.columns.find((column) => column.name === databaseName);
    if (stored === undefined || stored.isGenerated) continue;
    throw new TypeORMError(
      `The table ${tablePath} does not generate ${databaseName}, as the entity ${name} declares: it is ${stored.type}, and must ${generationRule}`,
    );
  }
}

function writeNames(columns: readonly { readonly name: string }[]): string {
  const names = columns.map(({ name }) => name);
  return names.sort().join(', ');
}

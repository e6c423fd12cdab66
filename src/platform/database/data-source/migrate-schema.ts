import { MigrationExecutor, type QueryRunner } from 'typeorm';
import { DatabaseStartError, type StoreDataSource, type StoreExtra } from './store-data-source.js';

/**
 * Runs the migrations that the store lacks, each in a transaction of its own.
 *
 * @throws DatabaseStartError when the schema is from a newer version of the program
 */
export async function migrateSchema(
  dataSource: StoreDataSource,
  queryRunner: QueryRunner,
): Promise<void> {
  const known = dataSource.migrationNames;
  const executor = new MigrationExecutor(dataSource, queryRunner);
  executor.transaction = 'each';
  const executed = await executor.getExecutedMigrations();
  const { unknown, missing } = compareMigrations(known, executed);
  if (unknown.length > 0) {
    throw new DatabaseStartError(
      `The database is newer than this program, which does not know ${unknown.join(', ')}: run the version that was run last, or restore the backup that was made before it`,
    );
  }
  if (missing.length === 0) return;
  const { logMigration: log = () => undefined } = dataSource.options.extra as StoreExtra;
  const from = known.filter((name) => !missing.includes(name)).at(-1) ?? 'none';
  log(`Migrating the schema from ${from} to ${missing.at(-1)}`);
  const began = performance.now();
  await executor.executePendingMigrations();
  log(`Migrated the schema in ${((performance.now() - began) / 1_000).toFixed(1)} seconds`);
}

/**
 * Finds the migrations of a store that the program does not know, and those that the store lacks.
 */
export function compareMigrations(
  known: readonly string[],
  executed: readonly { readonly name: string }[],
): { unknown: string[]; missing: string[] } {
  const names = executed.map(({ name }) => name);
  return {
    unknown: names.filter((name) => !known.includes(name)),
    missing: known.filter((name) => !names.includes(name)),
  };
}

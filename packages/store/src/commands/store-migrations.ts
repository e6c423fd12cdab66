import { getErrorCode } from '../engine/driver-errors.js';
import { platformSchema, type Schema } from '../open/open-database.js';
import {
  compareMigrations,
  type ExecutedMigration,
  type MigrationDifferences,
} from '../engine/store-data-source.js';
import { DatabaseStartError } from '../errors/store.errors.js';

/** The codes for a missing table or column, and for a file that is not a database. */
const NOT_A_STORE = new Set(['SQLITE_ERROR', 'SQLITE_NOTADB', '42P01', '42703']);

/**
 * The migrations that a store has executed, in this order, and how they differ from the known ones.
 *
 * @example
 * ```ts
 * await useStoreFile('data/store.db', 'read', schema, (_, { executed }: StoreMigrations) => {
 *   for (const { name } of executed) console.log(name);
 * });
 * ```
 */
export interface StoreMigrations extends MigrationDifferences {
  readonly executed: readonly ExecutedMigration[];
}

/**
 * Reads the migrations of a store. An older or newer version of this program may have made it.
 *
 * @param location where the store is, for the message
 * @param query executes a statement on the store
 * @throws DatabaseStartError when this program has not made the store
 */
export async function readMigrations(
  location: string,
  { migrations, retired = [] }: Schema,
  query: (sql: string) => Promise<ExecutedMigration[]>,
): Promise<StoreMigrations> {
  const executed = await query('SELECT name FROM migrations ORDER BY id').catch(
    (error: unknown) => {
      if (!NOT_A_STORE.has(getErrorCode(error))) throw error;
      throw createRefusal(location, (error as Error).message);
    },
  );
  if (executed.length === 0) throw createRefusal(location, 'it has executed no migration');
  const known = migrations.map(({ name }) => name);
  const differences = compareMigrations(known, retired, executed);
  // Other services on the platform have its migrations too.
  const shared = [...platformSchema.migrations.map(({ name }) => name), ...platformSchema.retired];
  const own = [...known, ...retired].filter((name) => !shared.includes(name));
  const { unknown } = differences;
  if (unknown.length > 0 && !executed.some(({ name }) => own.includes(name))) {
    throw createRefusal(location, `another one has executed ${unknown.join(', ')}`);
  }
  return { executed, ...differences };
}

/** Creates the error for a file or a database that this program has not made. */
export function createRefusal(location: string, reason: string): DatabaseStartError {
  return new DatabaseStartError(`${location} is not a store that this program made: ${reason}`);
}

import { getErrorCode } from '../engine/driver-errors.js';
import { platformSchema, type Schema } from '../open/open-database.js';
import {
  compareMigrations,
  type ExecutedMigration,
  type MigrationDifferences,
} from '../engine/store-data-source.js';
import { DatabaseStartError } from '../errors/store.errors.js';

/** The error codes of a file or a database without a table of migrations. */
const NOT_A_STORE = new Set([
  // SQLite: the file is not a database.
  'SQLITE_NOTADB',
  // SQLite: the statement does not compile, since its table or its column is missing.
  'SQLITE_ERROR',
  // PostgreSQL: the table is missing.
  '42P01',
  // PostgreSQL: the column is missing.
  '42703',
]);

/**
 * The migrations that a store has executed, the oldest first, and how they differ from the known ones.
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
 * Reads the migrations of a store. It returns how they differ from the migrations of this program,
 * since an older or newer version of the program may have made the store.
 *
 * @param location where the store is, for the message
 * @param select executes the statement that selects the names
 * @throws DatabaseStartError when this program has not made the store
 */
export async function readMigrations(
  location: string,
  schema: Schema,
  select: (sql: string) => Promise<ExecutedMigration[]>,
): Promise<StoreMigrations> {
  const executed = await readExecuted(location, select);
  if (executed.length === 0) {
    throw createForeignStoreError(location, 'it has executed no migration');
  }
  const { migrations, retired = [] } = schema;
  const known = migrations.map(({ name }) => name);
  const differences = compareMigrations(known, retired, executed);
  const { unknown } = differences;
  // Unknown migrations alone may come from a newer version of this program. If the store also has no
  // migration of this program itself, it belongs to another service.
  if (unknown.length > 0 && !hasOwnMigration(executed, [...known, ...retired])) {
    const names = unknown.join(', ');
    throw createForeignStoreError(location, `another program has executed ${names} on it`);
  }
  return { executed, ...differences };
}

async function readExecuted(
  location: string,
  select: (sql: string) => Promise<ExecutedMigration[]>,
): Promise<ExecutedMigration[]> {
  try {
    return await select('SELECT name FROM migrations ORDER BY id');
  } catch (error) {
    if (!NOT_A_STORE.has(getErrorCode(error))) throw error;
    throw createForeignStoreError(location, (error as Error).message);
  }
}

/**
 * Whether a store has executed a migration of this program itself. All services have the migrations of
 * the platform, so these do not count.
 */
function hasOwnMigration(
  executed: readonly ExecutedMigration[],
  known: readonly string[],
): boolean {
  const { migrations, retired } = platformSchema;
  const shared = [...migrations.map(({ name }) => name), ...retired];
  return executed.some(({ name }) => known.includes(name) && !shared.includes(name));
}

/** Creates the error for a file or a database that this program has not made. */
export function createForeignStoreError(location: string, reason: string): DatabaseStartError {
  return new DatabaseStartError(`${location} is not a store that this program made: ${reason}`);
}

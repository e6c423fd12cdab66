import { type DataSource, type DataSourceOptions, MigrationExecutor } from 'typeorm';
import { SqliteDataSource } from './sqlite-data-source.js';
import { codeOf } from './sqlite-error.js';

/** The store cannot be used. The message is one line for the operator, without a path. */
export class DatabaseStartError extends Error {}

/**
 * Opens the store, makes commits durable and brings the schema up to date.
 *
 * @throws DatabaseStartError
 */
export async function openDatabase(options: DataSourceOptions): Promise<DataSource> {
  const dataSource = new SqliteDataSource(options);
  try {
    await dataSource.initialize();
    // A commit is flushed to disk before it is reported.
    await dataSource.query('PRAGMA synchronous = FULL');
    await refuseNewerSchema(dataSource);
    await dataSource.runMigrations();
    return dataSource;
  } catch (error) {
    if (dataSource.isInitialized) await dataSource.destroy();
    if (error instanceof DatabaseStartError) throw error;
    throw new DatabaseStartError(`The database cannot be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

async function refuseNewerSchema(dataSource: DataSource): Promise<void> {
  const known = new Set(
    dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name),
  );
  const executed = await new MigrationExecutor(dataSource).getExecutedMigrations();
  if (executed.some(({ name }) => !known.has(name))) {
    throw new DatabaseStartError('The database is newer than this program: run a newer version');
  }
}

const REASONS: Record<string, string> = {
  SQLITE_NOTADB: 'the file is not a SQLite database',
  SQLITE_CANTOPEN: 'the file cannot be opened or created',
  SQLITE_READONLY: 'the file is read-only',
  SQLITE_BUSY: 'another process holds a lock on it',
  SQLITE_CORRUPT: 'the file is damaged',
  SQLITE_FULL: 'the disk is full',
  SQLITE_IOERR: 'reading or writing the file failed',
  EACCES: 'its folder may not be made or entered',
  EEXIST: 'its folder is in the place of a file',
  ENOTDIR: 'its folder is in the place of a file',
  EROFS: 'its file system is read-only',
};

function reasonOf(error: unknown): string {
  return REASONS[codeOf(error)] ?? 'its schema is not one that this program made';
}

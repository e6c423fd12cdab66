import type { Database, Statement } from 'sqlite3';
import type { ObjectLiteral, Repository } from 'typeorm';
import type { BulkTable } from '../bulk-table.js';
import { flushFolders } from './flush-folders.js';
import { SqliteFile } from './sqlite-file.js';
import { SqliteTable } from './sqlite-table.js';
import { codeOf, StoreDataSource } from '../store-data-source.js';

/**
 * A store in a SQLite file, on one connection. It also prepares statements, which TypeORM does not,
 * and knows whether its file is still the one it opened.
 */
export class SqliteDataSource extends StoreDataSource {
  private readonly statements: Statement[] = [];
  private file: SqliteFile | undefined;

  async enableDurableCommits(): Promise<void> {
    // A commit is flushed to disk before it is reported.
    await this.query('PRAGMA synchronous = FULL');
  }

  async migrate(): Promise<void> {
    await this.runNewMigrations(this.createQueryRunner());
    const { database } = this.options as { database: string };
    if (database !== ':memory:') {
      await flushFolders(database);
      this.file = new SqliteFile(database);
    }
    // What a killed program wrote and did not flush can be read already: from here on it is on disk.
    await this.probeWrite();
  }

  /** @throws Error when what was stored is in a file that nobody finds again */
  assertSameFile(): void {
    this.file?.assertSameFile();
  }

  bulkTable<Row extends ObjectLiteral>(repository: Repository<Row>): BulkTable<Row> {
    return new SqliteTable(repository, this);
  }

  prepare(sql: string): Statement {
    const statement = this.connection.prepare(sql);
    this.statements.push(statement);
    return statement;
  }

  /** Makes SQLite read anew what it keeps in memory: a disk may have given it something else. */
  dropPageCache(): void {
    this.connection.exec('PRAGMA shrink_memory', () => undefined);
  }

  private get connection(): Database {
    return (this.driver as unknown as { databaseConnection: Database }).databaseConnection;
  }

  /**
   * SQLite does not close while a statement is prepared, and lets the event loop wait when one is
   * finalized while another runs.
   */
  override async destroy(): Promise<void> {
    await new Promise<void>((resolve) => this.connection.wait(() => resolve()));
    await Promise.all(
      this.statements
        .splice(0)
        .map((statement) => new Promise<void>((resolve) => statement.finalize(() => resolve()))),
    );
    await super.destroy();
  }

  /** SQLite writes the page and flushes it also when the number is what it was. */
  async probeWrite(): Promise<void> {
    await this.query('PRAGMA user_version = 0');
    this.assertSameFile();
  }

  describeError(error: unknown): string {
    return sqliteReason(error) ?? 'its schema is not one that this program made';
  }
}

/** What went wrong with a file, in words for the operator. */
export function sqliteReason(error: unknown): string | undefined {
  return REASONS[codeOf(error)];
}

const REASONS: Record<string, string> = {
  SQLITE_NOTADB: 'the file is not a SQLite database',
  SQLITE_CANTOPEN: 'the file cannot be opened or created',
  SQLITE_READONLY: 'the file is read-only',
  SQLITE_BUSY: 'another process holds a lock on it',
  SQLITE_CORRUPT: 'the file is damaged',
  SQLITE_FULL: 'the disk is full',
  SQLITE_IOERR: 'reading or writing the file failed',
  EIO: 'reading or writing the file failed',
  EACCES: 'its folder may not be made or entered',
  EEXIST: 'its folder is in the place of a file',
  ENOTDIR: 'its folder is in the place of a file',
  EROFS: 'its file system is read-only',
};

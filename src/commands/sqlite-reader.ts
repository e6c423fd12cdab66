import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import { assertWritable } from '../platform/database/sqlite/assert-writable.js';
import { CommandError } from './command.js';

/** A connection of a command to the file of a store. The program may serve from it meanwhile. */
export class SqliteReader {
  private constructor(private readonly database: sqlite3.Database) {}

  /**
   * @param mode `ro` writes nothing; `rw` may recover the store after a crash, and keeps its
   *   snapshot when the program starts meanwhile
   * @throws CommandError when there is no file; DatabaseStartError when the file is not writable in
   *   mode `rw`
   */
  static async open(path: string, mode: 'ro' | 'rw'): Promise<SqliteReader> {
    if (!existsSync(path)) throw new CommandError(`There is no store at ${resolve(path)}`);
    const realPath = realpathSync(path);
    // Beside a read-only file, SQLite would create a log that nobody can write.
    if (mode === 'rw') await assertWritable(realPath);
    const url = pathToFileURL(realPath);
    url.searchParams.set('mode', mode);
    // Without a log, no program has the store open. SQLite would then create one, even to read.
    const hasLog = ['-wal', '-journal'].some((suffix) => existsSync(realPath + suffix));
    if (mode === 'ro' && !hasLog) url.searchParams.set('immutable', '1');
    const flags = mode === 'ro' ? sqlite3.OPEN_READONLY : sqlite3.OPEN_READWRITE;
    return await new Promise((open, reject) => {
      const database = new sqlite3.Database(url.href, flags | sqlite3.OPEN_URI, (error) =>
        error === null ? open(new SqliteReader(database)) : reject(error),
      );
    });
  }

  all<Row>(sql: string, ...parameters: unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.database.all<Row>(sql, parameters, (error, rows) =>
        error === null ? resolve(rows) : reject(error),
      );
    });
  }

  /** Runs `PRAGMA integrity_check`. Resolves with the first 20 faults; none in a sound store. */
  async findIntegrityFaults(): Promise<string[]> {
    const rows = await this.all<{ integrity_check: string }>('PRAGMA integrity_check(20)');
    return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
  }

  /** Aborts the running statement. */
  interrupt(): void {
    this.database.interrupt();
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.database.close(() => resolve()));
  }
}

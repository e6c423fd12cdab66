import { realpathSync, statSync } from 'node:fs';

/**
 * The files of an open store. SQLite goes on writing to a file that was removed, moved away or
 * replaced, and reports success: what it stores there, nobody finds again.
 */
export class SqliteFile {
  private readonly paths: readonly string[];
  private readonly identity: string;

  /** @param path of a store that is open and in WAL mode */
  constructor(path: string) {
    // SQLite keeps the log beside the file itself, not beside a link to it.
    this.paths = [path, `${realpathSync(path)}-wal`];
    this.identity = this.currentIdentity();
  }

  /** @throws Error when a file is no longer the one that was opened */
  assertSameFile(): void {
    if (this.currentIdentity() !== this.identity) {
      throw new Error('The file of the store was removed, moved away or replaced');
    }
  }

  /**
   * Waits for no disk, for the system keeps what it knows of the path of an open file in memory:
   * asking on another thread would take longer.
   */
  private currentIdentity(): string {
    return this.paths
      .map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
      .map((file) => (file === undefined ? 'none' : `${file.dev}:${file.ino}`))
      .join();
  }
}

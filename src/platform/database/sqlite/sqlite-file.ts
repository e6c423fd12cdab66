import { realpathSync, statSync } from 'node:fs';
import { StoreUnavailableError } from '../store-unavailable.error.js';

/** For how long a look at the files counts when a commit begins, in milliseconds. */
const FRESH_MS = 50;

/**
 * The files of an open store. SQLite goes on writing to a file that was removed, moved away or
 * replaced, and reports success: what it stores there is lost.
 */
export class SqliteFile {
  private readonly paths: readonly string[];
  private readonly identity: string;
  private seenAt = 0;

  /** @param path of a store that is open and in WAL mode */
  constructor(path: string) {
    // SQLite keeps these beside the file itself, not beside a link to it.
    const realPath = realpathSync(path);
    this.paths = [path, `${realPath}-wal`, `${realPath}-shm`];
    this.identity = this.currentIdentity();
  }

  /** @throws StoreUnavailableError when a file is no longer the one that was opened */
  assertSameStore(): void {
    if (this.currentIdentity() !== this.identity) {
      const reason = new Error('The file of the store was removed, moved away or replaced');
      throw new StoreUnavailableError('', [], reason);
    }
    this.seenAt = performance.now();
  }

  /**
   * Before a commit: while commits follow one another, the look after the last one counts.
   *
   * @throws StoreUnavailableError when a file is no longer the one that was opened
   */
  assertSameStoreUnlessFresh(): void {
    if (performance.now() - this.seenAt > FRESH_MS) this.assertSameStore();
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

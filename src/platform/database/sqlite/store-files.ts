import { realpathSync, statSync } from 'node:fs';
import { StoreUnavailableError } from '../store-unavailable.error.js';

/** How long a check of the files is valid for reads, in milliseconds. */
const FRESH_MS = 50;

/**
 * The files of an open store. SQLite continues to write to a file that was removed, moved or
 * replaced, and reports success, but those rows are lost.
 */
export class StoreFiles {
  private readonly paths: readonly string[];
  private readonly identity: string;
  private seenAt = 0;

  /** @param path the path of a store that is open in WAL mode */
  constructor(path: string) {
    // SQLite keeps its other files beside the file itself, not beside a link to it.
    const realPath = realpathSync(path);
    this.paths = [path, `${realPath}-wal`, `${realPath}-shm`];
    this.identity = this.readIdentity();
  }

  /**
   * Checks after a commit, before it is acknowledged.
   *
   * @throws StoreUnavailableError when a file is no longer the one that was opened
   */
  assertSame(): void {
    if (this.readIdentity() !== this.identity) {
      const reason = 'The file of the store was removed, moved away or replaced';
      throw new StoreUnavailableError(new Error(reason));
    }
    this.seenAt = performance.now();
  }

  /** The same for reads, which lose nothing if a check was made a moment ago. */
  assertSameUnlessFresh(): void {
    if (performance.now() - this.seenAt > FRESH_MS) this.assertSame();
  }

  /**
   * Synchronous, since the system has the metadata of open files in memory: a call on another
   * thread would take longer.
   */
  private readIdentity(): string {
    return this.paths
      .map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
      .map((file) => (file === undefined ? 'none' : `${file.dev}:${file.ino}`))
      .join();
  }
}

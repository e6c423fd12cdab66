import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';

/** The folder with the open files of this process. Only Linux has it. */
const DESCRIPTORS = '/proc/self/fd';
/** The last byte of a database file that a connection locks (`SHARED_FIRST` + `SHARED_SIZE` - 1). */
const LAST_BYTE_OF_DATABASE = 0x40000000 + 2 + 509;
/** The byte of the shared memory that a process locks while it has a store open (`UNIX_SHM_DMS`). */
const LAST_BYTE_OF_SHARED_MEMORY = 128;
/** The description of an open file, with its locks, fits into it. */
const MAX_DESCRIPTION_BYTES = 4_096;

interface HeldLock {
  readonly path: string;
  /** What Linux says of an open file (`man 5 proc_pid_fdinfo`). Each read is up to date. */
  readonly description: number;
  /** The end of the line of the lock in the description. */
  readonly lineEnd: string;
}

/**
 * The locks that SQLite holds while a store is open. SQLite does not notice when it loses them: the
 * system drops all locks of a process on a file when the process closes any descriptor of it
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 */
export class HeldLocks {
  private readonly locks: readonly HeldLock[];
  private readonly buffer = Buffer.alloc(MAX_DESCRIPTION_BYTES);

  /**
   * @param realPath of a store that is open and locked, without symbolic links. A lock that the
   *   system does not list, as outside of Linux, is not checked.
   */
  constructor(realPath: string) {
    this.locks = [
      ...this.find(realPath, LAST_BYTE_OF_DATABASE),
      ...this.find(`${realPath}-shm`, LAST_BYTE_OF_SHARED_MEMORY),
      ...this.find(`${realPath}-lock`, LAST_BYTE_OF_DATABASE),
    ];
  }

  /** Returns a file whose lock is lost. All others have been locked without a gap. */
  findLost(): string | undefined {
    return this.locks.find((lock) => !this.isHeld(lock))?.path;
  }

  close(): void {
    for (const { description } of this.locks) closeSync(description);
  }

  /** Finds the lock of SQLite on a file. Linux lists it with the descriptor by which it was taken. */
  private find(path: string, lastByte: number): HeldLock[] {
    for (const descriptor of listDescriptors(path)) {
      const description = openSync(`/proc/self/fdinfo/${descriptor}`, 'r');
      const lock = { path, description, lineEnd: ` ${lastByte}\n` };
      if (this.isHeld(lock)) return [lock];
      closeSync(description);
    }
    return [];
  }

  private isHeld({ description, lineEnd }: HeldLock): boolean {
    const length = readSync(description, this.buffer, 0, MAX_DESCRIPTION_BYTES, 0);
    return this.buffer.subarray(0, length).includes(lineEnd);
  }
}

/** Lists the descriptors of a file in this process. */
function listDescriptors(path: string): string[] {
  if (!existsSync(DESCRIPTORS)) return [];
  const file = statSync(path);
  return readdirSync(DESCRIPTORS).filter((descriptor) => {
    // The folder itself was open while it was read.
    const other = statSync(`${DESCRIPTORS}/${descriptor}`, { throwIfNoEntry: false });
    return other?.dev === file.dev && other.ino === file.ino;
  });
}

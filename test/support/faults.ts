import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const SOURCE = new URL('faults.c', import.meta.url).pathname;

/** What may be wrong, as numbers of 64 bits in this order; test/support/faults.c says what each does. */
const FIELDS = [
  'flushMs',
  'flushFailures',
  'flushFailureStep',
  'flushHang',
  'writeHang',
  'hanging',
  'writeErrno',
  'clockMs',
] as const;

/** How long it may take until something hangs, in milliseconds. */
const PATIENCE_MS = 10_000;

export type Wrong = Partial<Record<Exclude<(typeof FIELDS)[number], 'hanging'>, number>>;

/** What is wrong with the disk and the clock of a program, which may be changed while it runs. */
export class Faults {
  /** Whether libraries can be compiled, and loaded before the C library. */
  static readonly areSupported =
    process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

  private readonly file: string;

  /** What the program needs in its environment. */
  readonly env: Record<string, string>;

  /**
   * @param folder where the library and what is wrong are kept; to be removed with all in it
   * @param suffix the end of the paths of the files that are concerned
   */
  constructor(folder: string, suffix: string) {
    const library = join(folder, 'faults.so');
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE]);
    this.file = join(folder, 'faults');
    writeFileSync(this.file, new BigInt64Array(FIELDS.length));
    this.env = { LD_PRELOAD: library, FAULTS_FILE: this.file, FAULTS_SUFFIX: suffix };
  }

  set(wrong: Wrong): void {
    for (const [name, value] of Object.entries(wrong)) {
      const offset = FIELDS.indexOf(name as keyof Wrong) * BigInt64Array.BYTES_PER_ELEMENT;
      this.access('r+', (fd) => writeSync(fd, new BigInt64Array([BigInt(value)]), 0, 8, offset));
    }
  }

  /** Resolves once a write or a flush hangs. */
  async hang(): Promise<void> {
    const hanging = new BigInt64Array(1);
    const offset = FIELDS.indexOf('hanging') * BigInt64Array.BYTES_PER_ELEMENT;
    const deadline = performance.now() + PATIENCE_MS;
    while (performance.now() < deadline) {
      this.access('r', (fd) => readSync(fd, hanging, 0, 8, offset));
      if (hanging[0] !== 0n) return;
      await sleep(1);
    }
    throw new Error('nothing hangs');
  }

  private access(flags: 'r' | 'r+', use: (fd: number) => void): void {
    const fd = openSync(this.file, flags);
    use(fd);
    closeSync(fd);
  }
}

import { execFileSync, spawnSync } from 'node:child_process';
import { openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './until.js';

const SOURCE = new URL('../../src/testing/faults.c', import.meta.url).pathname;

/** The faults, as 64-bit numbers in this order; faults.c describes each. */
const FIELDS = [
  'flushMs',
  'flushFailureStep',
  'flushHang',
  'writeHang',
  'hanging',
  'writeErrno',
] as const;

/** The bytes of a number. */
const SIZE = BigInt64Array.BYTES_PER_ELEMENT;

/**
 * The faults to set, each by a number.
 *
 * @example
 * ```ts
 * const fullDisk: Wrong = { writeErrno: 28 };
 * ```
 */
export type Wrong = Partial<Record<Exclude<(typeof FIELDS)[number], 'hanging'>, number>>;

/**
 * The faults of the disk of a program, which tests may change while it runs. They need Linux and a
 * C compiler.
 *
 * @example
 * ```ts
 * const faults = new Faults('/tmp/faults', 'store.db-wal');
 * const child = spawn('node', ['dist/main.js'], { env: { ...process.env, ...faults.env } });
 * faults.set({ writeHang: 1 });
 * ```
 */
export class Faults {
  /**
   * Whether libraries can be compiled, and loaded before the C library. Where they cannot be, tests
   * are skipped on a developer's machine.
   */
  static get areSupported(): boolean {
    return process.platform === 'linux' && hasCompiler();
  }

  private readonly fd: number;

  /** The environment of the program. */
  readonly env: Record<string, string>;

  /**
   * @param folder the folder for the library and for the file with the faults
   * @param suffix the end of the paths of the affected files
   */
  constructor(folder: string, suffix: string) {
    const file = join(folder, 'faults');
    this.fd = openSync(file, 'w+');
    writeSync(this.fd, new BigInt64Array(FIELDS.length));
    const library = `${file}.so`;
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE]);
    this.env = { LD_PRELOAD: library, FAULTS_FILE: file, FAULTS_SUFFIX: suffix };
  }

  set(wrong: Wrong): void {
    for (const [name, value] of Object.entries(wrong)) {
      const place = FIELDS.indexOf(name as keyof Wrong);
      writeSync(this.fd, new BigInt64Array([BigInt(value)]), 0, SIZE, place * SIZE);
    }
  }

  /** Resolves once a write or a flush hangs. */
  async hang(): Promise<void> {
    const hanging = new BigInt64Array(1);
    const place = FIELDS.indexOf('hanging');
    await until(() => {
      readSync(this.fd, hanging, 0, SIZE, place * SIZE);
      return hanging[0] !== 0n;
    });
  }
}

/** @throws Error without one where `CI` is set, so that no promise goes unproved unnoticed */
function hasCompiler(): boolean {
  if (spawnSync('cc', ['--version']).status === 0) return true;
  if (process.env.CI) throw new Error('CI is set, but this machine has no cc');
  return false;
}

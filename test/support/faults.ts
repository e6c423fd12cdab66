import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { until } from './until.js';

const SOURCE = new URL('faults.c', import.meta.url).pathname;
const CACHE = new URL('../../node_modules/.cache/', import.meta.url).pathname;

/** The faults, as 64-bit numbers in this order; test/support/faults.c describes each. */
const FIELDS = [
  'flushMs',
  'flushFailures',
  'flushFailureStep',
  'flushHang',
  'writeHang',
  'hanging',
  'writeErrno',
] as const;

export type Wrong = Partial<Record<Exclude<(typeof FIELDS)[number], 'hanging'>, number>>;

/** The faults of the disk of a program, which tests may change while it runs. */
export class Faults {
  /**
   * Whether libraries can be compiled, and loaded before the C library. Where they cannot be, tests
   * are skipped on a developer's machine.
   */
  static readonly areSupported = process.platform === 'linux' && hasCompiler();

  private readonly file: string;

  /** The environment of the program. */
  readonly env: Record<string, string>;

  /**
   * @param folder the folder for the file with the faults
   * @param suffix the end of the paths of the affected files
   */
  constructor(folder: string, suffix: string) {
    const library = compiled();
    this.file = join(folder, 'faults');
    writeFileSync(this.file, new BigInt64Array(FIELDS.length));
    this.env = { LD_PRELOAD: library, FAULTS_FILE: this.file, FAULTS_SUFFIX: suffix };
  }

  set(wrong: Wrong): void {
    for (const [name, value] of Object.entries(wrong)) this.write(name as keyof Wrong, value);
  }

  /** Resolves once a write or a flush hangs. */
  async hang(): Promise<void> {
    await until(() => this.read('hanging') !== 0n);
  }

  private write(name: (typeof FIELDS)[number], value: number): void {
    const bytes = new BigInt64Array([BigInt(value)]);
    this.access('r+', (fd) => writeSync(fd, bytes, 0, 8, getOffset(name)));
  }

  private read(name: (typeof FIELDS)[number]): bigint {
    const value = new BigInt64Array(1);
    this.access('r', (fd) => readSync(fd, value, 0, 8, getOffset(name)));
    return value[0] ?? 0n;
  }

  private access(flags: 'r' | 'r+', use: (fd: number) => void): void {
    const fd = openSync(this.file, flags);
    use(fd);
    closeSync(fd);
  }
}

function getOffset(name: (typeof FIELDS)[number]): number {
  return FIELDS.indexOf(name) * BigInt64Array.BYTES_PER_ELEMENT;
}

/** @throws Error without one where `CI` is set, so that no promise goes unproved unnoticed */
function hasCompiler(): boolean {
  if (spawnSync('cc', ['--version']).status === 0) return true;
  if (process.env.CI) throw new Error('CI is set, but this machine has no cc');
  return false;
}

/** Compiles the library once for all tests. */
function compiled(): string {
  const digest = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const library = join(CACHE, `faults-${digest}.so`);
  if (existsSync(library)) return library;
  mkdirSync(CACHE, { recursive: true });
  const made = `${library}.${process.pid}`;
  execFileSync('cc', ['-shared', '-fPIC', '-o', made, SOURCE]);
  renameSync(made, library);
  return library;
}

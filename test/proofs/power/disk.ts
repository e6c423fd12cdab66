import { dirname } from 'node:path';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { Step } from './trace.js';

/** The unit that a disk writes as a whole, in bytes, and how many the system flushes as a page. */
const SECTOR = 512;
const SECTORS_OF_PAGE = 8;

/** Chooses how many of the unflushed values of one place, in order, reach the disk in a power cut. */
type Survive = (values: number) => number;

/** A value that a disk writes as a whole: the one that is certainly there, and those that may be. */
class Cell<T> {
  private later: { readonly step: number; readonly value: T }[] = [];

  constructor(private durable: T) {}

  /** The value that programs see. */
  get current(): T {
    return this.later.at(-1)?.value ?? this.durable;
  }

  write(step: number, value: T): void {
    this.later.push({ step, value });
  }

  isWaiting(isAsked: (step: number) => boolean): boolean {
    return this.later.some(({ step }) => isAsked(step));
  }

  /** All values before the beginning of the flush are on disk now. */
  flush(begin: number): void {
    this.durable = this.later.findLast(({ step }) => step < begin)?.value ?? this.durable;
    this.later = this.later.filter(({ step }) => step >= begin);
  }

  crash(survive: Survive): T {
    return this.later.slice(0, survive(this.later.length)).at(-1)?.value ?? this.durable;
  }
}

/** Chooses one of the values of a cell. */
type Read = <T>(cell: Cell<T>) => T;

class File {
  private readonly size = new Cell(0);
  private readonly sectors = new Map<number, Cell<Buffer>>();
  /** The pages whose flush failed since their last write: the next flush omits them. */
  private readonly stranded = new Set<number>();

  write(step: number, offset: number, bytes: Buffer): void {
    const end = offset + bytes.length;
    for (let from = offset; from < end;) {
      const sector = Math.floor(from / SECTOR);
      const to = Math.min((sector + 1) * SECTOR, end);
      const cell = this.sectors.get(sector) ?? new Cell(Buffer.alloc(SECTOR));
      const content = Buffer.from(cell.current);
      bytes.copy(content, from % SECTOR, from - offset, to - offset);
      cell.write(step, content);
      this.sectors.set(sector, cell);
      this.stranded.delete(pageOf(sector));
      from = to;
    }
    if (end > this.size.current) this.size.write(step, end);
  }

  truncate(step: number, size: number): void {
    // A file that grows later is filled with zeros.
    const lost = this.size.current - size;
    if (lost > 0) this.write(step, size, Buffer.alloc(lost));
    this.size.write(step, size);
  }

  flush(begin: number): void {
    this.size.flush(begin);
    for (const [sector, cell] of this.sectors) {
      if (!this.stranded.has(pageOf(sector))) cell.flush(begin);
    }
  }

  /** After a failed flush, Linux treats the pages as clean until they are written again. */
  failToFlush(begin: number): void {
    for (const [sector, cell] of this.sectors) {
      if (cell.isWaiting((step) => step < begin)) this.stranded.add(pageOf(sector));
    }
  }

  isDurable(written: number): boolean {
    return ![...this.sectors.values()].some((cell) => cell.isWaiting((step) => step === written));
  }

  content(read: Read): Buffer {
    const content = Buffer.alloc(read(this.size));
    for (const [sector, cell] of this.sectors) read(cell).copy(content, sector * SECTOR);
    return content;
  }
}

function pageOf(sector: number): number {
  return Math.floor(sector / SECTORS_OF_PAGE);
}

type Entry = File | 'folder' | 'nothing';

/**
 * The files of a folder after a power cut: everything that was flushed, and any part of the rest,
 * including names.
 */
export class Disk {
  /** How many steps were applied. */
  steps = 0;
  private readonly names = new Map<string, Cell<Entry>>();

  /** @param folder a folder whose own name is on disk */
  constructor(private readonly folder: string) {
    this.names.set(folder, new Cell<Entry>('folder'));
  }

  apply(step: Step): void {
    const number = this.steps++;
    if (step.kind === 'answer') return;
    const name = this.names.get(step.path) ?? new Cell<Entry>('nothing');
    this.names.set(step.path, name);
    switch (step.kind) {
      case 'create':
        if (name.current === 'nothing') name.write(number, new File());
        break;
      case 'mkdir':
        name.write(number, 'folder');
        break;
      case 'unlink':
        name.write(number, 'nothing');
        break;
      case 'write':
        this.file(step.path).write(number, step.offset, step.bytes);
        break;
      case 'truncate':
        this.file(step.path).truncate(number, step.size);
        break;
      case 'flush':
        if (name.current === 'folder') this.flushFolder(step.path, number - step.lasted);
        else this.file(step.path).flush(number - step.lasted);
        break;
      case 'failed flush':
        if (name.current !== 'folder') this.file(step.path).failToFlush(number - step.lasted);
    }
  }

  /** Whether a step that wrote to a file is on disk. */
  isDurable(path: string, step: number): boolean {
    return this.file(path).isDurable(step);
  }

  /** The files that programs find by their names. */
  current(): Map<string, Buffer> {
    return this.contents((cell) => cell.current);
  }

  /** A possible state of the files after a power cut now. */
  crash(random: SeededRandom): Map<string, Buffer> {
    const some: Survive = (values) => random.below(values + 1);
    const survive = random.pick<Survive>(
      some,
      some,
      () => 0,
      (values) => values,
    );
    return this.contents((cell) => cell.crash(survive));
  }

  private contents(read: Read): Map<string, Buffer> {
    const entries = new Map([...this.names].map(([path, name]) => [path, read(name)]));
    const isReachable = (path: string): boolean =>
      path === this.folder ||
      (entries.get(dirname(path)) === 'folder' && isReachable(dirname(path)));
    const contents = new Map<string, Buffer>();
    for (const [path, entry] of entries) {
      if (entry instanceof File && isReachable(path)) contents.set(path, entry.content(read));
    }
    return contents;
  }

  private flushFolder(folder: string, begin: number): void {
    for (const [path, name] of this.names) if (dirname(path) === folder) name.flush(begin);
  }

  private file(path: string): File {
    const entry = this.names.get(path)?.current;
    if (entry instanceof File) return entry;
    throw new Error(`There is no file ${path}`);
  }
}

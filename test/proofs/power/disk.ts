import { dirname } from 'node:path';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { Step } from './trace.js';

/**
 * The units that a disk writes, and that the system keeps of a file in memory, as a whole, in
 * bytes.
 */
const SECTOR = 512;
const PAGE = 4_096;

/** A write, or a part of one within a page, that may not be on disk yet. */
interface Piece {
  readonly step: number;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** How much of the unflushed data survives a crash. */
type Survival = 'none' | 'all' | 'some';

/** The content of a file: the part that is certainly on disk, and the part that may be. */
class File {
  private durable: Buffer = Buffer.alloc(0);
  private pieces: Piece[] = [];
  /** The later sizes; the system sees the last one. */
  private sizes: { step: number; size: number }[] = [];
  /** The pages whose flush failed since their last write: the next flush omits them. */
  private readonly stranded = new Set<number>();

  get size(): number {
    return this.sizes.at(-1)?.size ?? this.durable.length;
  }

  write(step: number, offset: number, bytes: Buffer): void {
    for (let from = 0; from < bytes.length;) {
      const page = Math.floor((offset + from) / PAGE);
      const to = Math.min((page + 1) * PAGE - offset, bytes.length);
      this.pieces.push({ step, offset: offset + from, bytes: bytes.subarray(from, to) });
      this.stranded.delete(page);
      from = to;
    }
    if (offset + bytes.length > this.size) this.resize(step, offset + bytes.length);
  }

  truncate(step: number, size: number): void {
    // A file that grows later is filled with zeros.
    const lost = this.size - size;
    if (lost > 0) this.write(step, size, Buffer.alloc(lost));
    if (lost !== 0) this.resize(step, size);
  }

  private resize(step: number, size: number): void {
    this.sizes.push({ step, size });
  }

  /**
   * All writes before the beginning of the flush are on disk now, unless an earlier flush of them
   * failed.
   */
  flush(begin: number): void {
    const isFlushed = ({ step, offset }: Piece): boolean =>
      step < begin && !this.stranded.has(Math.floor(offset / PAGE));
    const size = this.sizes.findLast(({ step }) => step < begin)?.size ?? this.durable.length;
    this.durable = this.content(this.pieces.filter(isFlushed), size);
    this.pieces = this.pieces.filter((piece) => !isFlushed(piece));
    this.sizes = this.sizes.filter(({ step }) => step >= begin);
  }

  /** After a failed flush, Linux treats the pages as clean until they are written again. */
  failToFlush(begin: number): void {
    for (const { step, offset } of this.pieces) {
      if (step < begin) this.stranded.add(Math.floor(offset / PAGE));
    }
  }

  isDurable(step: number): boolean {
    return !this.pieces.some((piece) => piece.step === step);
  }

  /** The content that programs read. */
  current(): Buffer {
    return this.content(this.pieces, this.size);
  }

  private content(pieces: readonly Piece[], size: number): Buffer {
    const end = Math.max(size, ...pieces.map(({ offset, bytes }) => offset + bytes.length));
    const content = Buffer.alloc(end);
    this.durable.copy(content);
    for (const { offset, bytes } of pieces) bytes.copy(content, offset);
    return content.subarray(0, size);
  }

  /** A possible content of the disk: each sector has any of its states since the last flush. */
  crash(random: SeededRandom, survival: Survival): Buffer {
    const bySector = new Map<number, Piece[]>();
    for (const { step, offset, bytes } of this.pieces) {
      for (let from = 0; from < bytes.length;) {
        const sector = Math.floor((offset + from) / SECTOR);
        const to = Math.min((sector + 1) * SECTOR - offset, bytes.length);
        const pieces = bySector.get(sector) ?? [];
        pieces.push({ step, offset: offset + from, bytes: bytes.subarray(from, to) });
        bySector.set(sector, pieces);
        from = to;
      }
    }
    const written = [...bySector.values()].flatMap((pieces) => survivors(pieces, random, survival));
    const size = survivors(this.sizes, random, survival).at(-1)?.size ?? this.durable.length;
    return this.content(written, size);
  }
}

/** Takes the first operations on one place, any number of them. */
function survivors<T>(done: readonly T[], random: SeededRandom, survival: Survival): readonly T[] {
  if (survival === 'none') return [];
  return survival === 'all' ? done : done.slice(0, random.below(done.length + 1));
}

type Entry = File | 'folder' | 'nothing';

/** The files of a name: the one that is certainly on disk, and those that may be. */
interface Name {
  durable: Entry;
  later: { readonly step: number; readonly entry: Entry }[];
}

/**
 * The files of a folder after a power cut: everything that was flushed, and any part of the rest,
 * including names.
 */
export class Disk {
  private steps = 0;
  private readonly names = new Map<string, Name>();

  /** @param folder a folder whose own name is on disk */
  constructor(private readonly folder: string) {
    this.names.set(folder, { durable: 'folder', later: [] });
  }

  apply(step: Step): void {
    const number = this.steps++;
    switch (step.kind) {
      case 'create':
        if (this.find(step.path) === 'nothing') this.link(number, step.path, new File());
        break;
      case 'mkdir':
        this.link(number, step.path, 'folder');
        break;
      case 'unlink':
        this.link(number, step.path, 'nothing');
        break;
      case 'write':
        this.file(step.path).write(number, step.offset, step.bytes);
        break;
      case 'truncate':
        this.file(step.path).truncate(number, step.size);
        break;
      case 'flush':
        if (this.find(step.path) === 'folder') this.flushFolder(step.path, step.begin, step.isDone);
        else if (step.isDone) this.file(step.path).flush(step.begin);
        else this.file(step.path).failToFlush(step.begin);
        break;
      case 'answer':
        break;
    }
  }

  /** Whether a step that wrote to a file is on disk. */
  isDurable(path: string, step: number): boolean {
    return this.file(path).isDurable(step);
  }

  /** The files that programs find by their names. */
  current(): Map<string, Buffer> {
    return this.contents(
      ({ durable, later }) => later.at(-1)?.entry ?? durable,
      (file) => file.current(),
    );
  }

  /** A possible state of the files after a power cut now. */
  crash(random: SeededRandom): Map<string, Buffer> {
    const survival = random.pick<Survival>('some', 'some', 'none', 'all');
    return this.contents(
      ({ durable, later }) => survivors(later, random, survival).at(-1)?.entry ?? durable,
      (file) => file.crash(random, survival),
    );
  }

  private contents(
    entryOf: (name: Name) => Entry,
    read: (file: File) => Buffer,
  ): Map<string, Buffer> {
    const entries = new Map([...this.names].map(([path, name]) => [path, entryOf(name)]));
    const isReachable = (path: string): boolean =>
      path === this.folder ||
      (entries.get(dirname(path)) === 'folder' && isReachable(dirname(path)));
    const contents = new Map<string, Buffer>();
    for (const [path, entry] of entries) {
      if (entry instanceof File && isReachable(path)) contents.set(path, read(entry));
    }
    return contents;
  }

  private flushFolder(folder: string, begin: number, isDone: boolean): void {
    for (const [path, name] of this.names) {
      if (dirname(path) !== folder || !isDone) continue;
      name.durable = name.later.findLast(({ step }) => step < begin)?.entry ?? name.durable;
      name.later = name.later.filter(({ step }) => step >= begin);
    }
  }

  private link(step: number, path: string, entry: Entry): void {
    const name = this.names.get(path) ?? { durable: 'nothing', later: [] };
    name.later.push({ step, entry });
    this.names.set(path, name);
  }

  private find(path: string): Entry {
    const name = this.names.get(path);
    return name?.later.at(-1)?.entry ?? name?.durable ?? 'nothing';
  }

  private file(path: string): File {
    const entry = this.find(path);
    if (entry instanceof File) return entry;
    throw new Error(`There is no file ${path}`);
  }
}

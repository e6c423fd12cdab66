import type { Collection } from './api-document.js';
import { normalizeText } from './formats.js';
import { jsonText, readExactly } from './json-text.js';

/** One expected item of a collection. */
export interface Entry {
  /** Its members in canonical JSON, with integers as text. */
  readonly text: string;
  /** Undefined until the item was read. */
  etag: string | undefined;
  /** The ETag before the last change. */
  readonly formerEtag: string | undefined;
}

/** The expected items of a collection, by their paths. */
export class StoreModel {
  private readonly entries = new Map<string, Entry>();
  /** The integer keys in the order of pages; empty for keys of another kind. */
  private readonly order: bigint[] = [];
  private readonly turns = new Map<string, Promise<void>>();
  private alone: Promise<void> | undefined;

  constructor(readonly collection: Collection) {}

  get size(): number {
    return this.entries.size;
  }

  get paths(): IterableIterator<string> {
    return this.entries.keys();
  }

  get(path: string): Entry | undefined {
    return this.entries.get(path);
  }

  /** Records that an item was created or replaced. */
  set(path: string, text: string): void {
    const known = this.entries.get(path);
    if (known?.text === text) return;
    this.entries.set(path, { text, etag: undefined, formerEtag: known?.etag });
    const key = keyIn(path);
    if (known === undefined && key !== undefined) this.order.splice(this.findPlace(key), 0, key);
  }

  /** The first keys, as they stand in a path. */
  keys(count: number): string[] {
    return [...this.paths]
      .slice(0, count)
      .flatMap((path) => path.slice(this.collection.create.path.length + 1).split('/'))
      .map(decodeURIComponent);
  }

  delete(path: string): void {
    const key = keyIn(path);
    if (this.entries.delete(path) && key !== undefined) this.order.splice(this.findPlace(key), 1);
  }

  /** The first integer keys, at most so many, by their order or by its reverse. */
  firstKeys(count: number, isReverse: boolean): bigint[] {
    return isReverse ? this.order.slice(-count).reverse() : this.order.slice(0, count);
  }

  /** How many keys are less. */
  private findPlace(key: bigint): number {
    let low = 0;
    let high = this.order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.order[middle] ?? key) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Runs work once no other work on this path runs, so that its outcome is predictable. */
  async inTurn<T>(path: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      const before = this.alone ?? this.turns.get(path);
      if (before === undefined) break;
      await before;
    }
    const result = work();
    this.turns.set(path, settled(result));
    try {
      return await result;
    } finally {
      this.turns.delete(path);
    }
  }

  /** Runs the work once no other work on any path runs. */
  async inTurnOfAll<T>(work: () => Promise<T>): Promise<T> {
    while (this.alone !== undefined) await this.alone;
    const result = Promise.all(this.turns.values()).then(work);
    this.alone = settled(result);
    try {
      return await result;
    } finally {
      this.alone = undefined;
    }
  }

  /** Makes the path of the item with these keys that a create at this path adds. */
  writePath(createPath: string, keys: Readonly<Record<string, unknown>>): string {
    const texts = this.collection.keys.map((name) => encodeURIComponent(String(keys[name])));
    return [createPath, ...texts].join('/');
  }

  /** Adds the keys that the service has chosen, from its answer. */
  addKeys(
    answer: unknown,
    text: string,
    createPath: string,
  ): { text: string; path: string; keys: Record<string, unknown> } {
    const answered = pick(answer as Readonly<Record<string, unknown>>, this.collection.keys);
    const keys = Object.fromEntries(
      Object.entries(answered).map(([name, value]) => {
        const isInteger = typeof value === 'string' && /^-?\d+n$/.test(value);
        return [name, isInteger ? BigInt(value.slice(0, -1)) : value];
      }),
    );
    const written = pick(answered, this.collection.members);
    const whole = canonicalText({ ...(JSON.parse(text) as object), ...written });
    return { text: whole, path: this.writePath(createPath, keys), keys };
  }

  /** The members that clients write and read, of something that was sent or answered. */
  textOf(content: object): string {
    return this.exactText(readExactly(jsonText(content)));
  }

  /** As {@link textOf}, of what was read with {@link readExactly}. */
  exactText(exact: unknown): string {
    const members = exact as Readonly<Record<string, unknown>>;
    return canonicalText(pick(members, this.collection.members));
  }

  /** The members of an entry. */
  readContent({ text }: Entry): Readonly<Record<string, unknown>> {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }
}

export function pick(
  members: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  const present = names.filter((name) => Object.hasOwn(members, name));
  return Object.fromEntries(present.map((name) => [name, members[name]]));
}

/** JSON with the members of each object in the order of their names. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'string') return normalizeText(member);
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function keyIn(path: string): bigint | undefined {
  const [, digits] = /\/(-?\d+)$/.exec(path) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

function settled(result: Promise<unknown>): Promise<void> {
  return result.then(
    () => undefined,
    () => undefined,
  );
}

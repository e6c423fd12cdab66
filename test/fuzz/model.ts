/** The members of a plant other than its id. */
export interface Content {
  readonly name: string;
  readonly tag?: string;
}

/** A plant as it is read, with the digits of its id. */
export interface StoredPlant extends Content {
  readonly id: string;
}

export interface ListQuery {
  readonly sort?: 'id' | '-id' | 'name' | '-name';
  readonly name?: string;
  readonly tag?: string;
  readonly limit?: number;
  readonly after?: bigint;
}

/** A merge patch of a plant. */
export interface Patch {
  readonly name?: string;
  readonly tag?: string | null;
}

/** The plants that must be stored, by their ids. */
export class Model extends Map<bigint, Content> {
  /** The ETags that were seen, by the content that has them. */
  private readonly etags = new Map<string, string>();

  /** Creates a plant if it is new. Returns the status, or the code of the error. */
  create(id: bigint, content: Content): number {
    const stored = this.get(id);
    if (stored !== undefined) return toText(stored) === toText(content) ? 40901 : 40900;
    this.set(id, content);
    return 200;
  }

  /** Lists all plants that a query finds, in its order, whatever its limit is. */
  list({ sort, name = '', tag, after }: ListQuery): StoredPlant[] {
    const order = sort ?? (name === '' ? 'id' : 'name');
    const direction = order.startsWith('-') ? -1 : 1;
    const plants = [...this].map(([id, content]) => ({ id, key: sortKey(content.name), content }));
    return plants
      .filter((one) => lowerAscii(one.content.name).startsWith(lowerAscii(name)))
      .filter((one) => tag === undefined || one.content.tag === tag)
      .filter(({ id }) => after === undefined || (direction === 1 ? id > after : id < after))
      .sort((a, b) => {
        const byName = order.endsWith('name') ? Buffer.compare(a.key, b.key) : 0;
        return direction * (byName || (a.id < b.id ? -1 : 1));
      })
      .map(({ id, content }) => ({ id: String(id), ...content }));
  }

  /** The ETag of a content, if it was seen. */
  findEtag(content: Content): string | undefined {
    return this.etags.get(toText(content));
  }

  /** Remembers an ETag. Returns whether it is a strong one, of this content and of no other. */
  acceptsEtag(content: Content, etag = ''): boolean {
    const known = this.findEtag(content);
    const isNew = known === undefined && ![...this.etags.values()].includes(etag);
    this.etags.set(toText(content), etag);
    return /^"[!#-~]+"$/.test(etag) && (isNew || known === etag);
  }
}

/** Applies a merge patch (RFC 7396). */
export function applyPatch(content: Content, patch: Patch): Content {
  const { name, tag = null } = { ...content, ...patch };
  return { name, ...(tag !== null && { tag }) };
}

function toText({ name, tag }: Content): string {
  return JSON.stringify([name, tag]);
}

/** UTF-8 sorts by code point. */
function sortKey(name: string): Buffer {
  return Buffer.from(lowerAscii(Array.from(name).slice(0, 64).join('')));
}

function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** A change in the feed. */
export interface FeedChange {
  readonly cursor: string;
  readonly type: string;
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  /** The name and the tag; undefined for a removal. */
  readonly row?: Row | undefined;
}

export interface Row {
  readonly name: string;
  readonly tag?: string;
}

/** A write of a row, with a name that no other write uses. */
export interface Write {
  readonly effect: 'created' | 'replaced' | 'removed';
  readonly id: string;
  /** Undefined for a removal. */
  readonly name?: string | undefined;
  /** When it began and ended, in milliseconds since 1970, if known. */
  readonly began?: number | undefined;
  readonly ended?: number | undefined;
  /** `unknown` if there was no answer, or only a 503. */
  readonly outcome: 'done' | 'refused' | 'unknown';
  /** The row in its answer. */
  readonly row?: Row | undefined;
}

/** The writes of a run, which determine the expected feed. */
export class ChangeLedger {
  private readonly named = new Map<string, Write>();
  private readonly removals = new Map<string, Write[]>();

  note(write: Write): void {
    const { id, name } = write;
    if (name !== undefined) this.named.set(`${id} ${name}`, write);
    else this.removals.set(id, [...(this.removals.get(id) ?? []), write]);
  }

  knows(id: string, name: string): boolean {
    return this.named.has(`${id} ${name}`);
  }

  summary(): string {
    const writes = [...this.named.values(), ...[...this.removals.values()].flat()];
    const count = (one: Write['outcome']): number =>
      writes.filter(({ outcome }) => outcome === one).length;
    return `${count('done')} writes done, ${count('refused')} refused, ${count('unknown')} unknown`;
  }

  /**
   * Lists the faults of a feed: changes that are lost, invented, duplicate or in the wrong order.
   */
  audit(feed: readonly FeedChange[]): string[] {
    const byId = new Map<string, FeedChange[]>();
    for (const change of feed) byId.set(change.id, [...(byId.get(change.id) ?? []), change]);
    const ids = new Set([...byId.keys(), ...this.removals.keys()]);
    const faults = [...ids].flatMap((id) => {
      const changes = byId.get(id) ?? [];
      return [
        ...findBreaks(changes),
        ...this.auditStates(changes),
        ...this.auditRemovals(id, changes),
      ];
    });
    const found = new Set(feed.map(({ id, row }) => `${id} ${row?.name ?? ''}`));
    for (const [state, { outcome }] of this.named) {
      if (outcome === 'done' && !found.has(state)) faults.push(`${state} is not in the feed`);
    }
    return faults;
  }

  /** @param changes of one row */
  private auditStates(changes: readonly FeedChange[]): string[] {
    const faults: string[] = [];
    const seen = new Set<string>();
    let latestBegin = -Infinity;
    for (const change of changes) {
      if (change.row === undefined) continue;
      const { name } = change.row;
      const write = this.named.get(`${change.id} ${name}`);
      if (write === undefined || write.outcome === 'refused') {
        faults.push(`${show(change)} is invented`);
        continue;
      }
      if (seen.has(name)) faults.push(`${show(change)} is there twice`);
      seen.add(name);
      const { effect, row, began = -Infinity, ended = Infinity } = write;
      if (change.type !== `plant.${effect}` || !isSame(row ?? change.row, change.row)) {
        faults.push(`${show(change)} was ${effect} as ${JSON.stringify(row)}`);
      }
      if (change.at < began || change.at > ended) {
        faults.push(`${show(change)} has a time before its write or after it`);
      }
      if (ended < latestBegin) faults.push(`${show(change)} comes after a change that followed it`);
      latestBegin = Math.max(latestBegin, began);
    }
    return faults;
  }

  /** @param changes of one row */
  private auditRemovals(id: string, changes: readonly FeedChange[]): string[] {
    const writes = this.removals.get(id) ?? [];
    const left = changes.filter(({ row }) => row === undefined);
    // Takes the first change within the time of a removal: the others may belong to later removals.
    const take = ({ began = -Infinity, ended = Infinity }: Write): FeedChange | undefined => {
      const index = left.findIndex(({ at }) => at >= began && at <= ended);
      return index === -1 ? undefined : left.splice(index, 1)[0];
    };
    const having = (outcome: Write['outcome'], by: 'began' | 'ended'): Write[] =>
      writes
        .filter((write) => write.outcome === outcome)
        .sort((one, other) => (one[by] ?? 0) - (other[by] ?? 0));
    const lost = having('done', 'ended').filter((write) => take(write) === undefined);
    for (const write of having('unknown', 'began')) take({ ...write, ended: Infinity });
    return [
      ...lost.map(() => `a removal of ${id} is not in the feed`),
      ...left.map((change) => `${show(change)} is invented`),
    ];
  }
}

/** Finds changes of one row that do not follow from each other. */
function findBreaks(changes: readonly FeedChange[]): string[] {
  let isThere = false;
  return changes.flatMap((change) => {
    const wasThere = isThere;
    isThere = change.row !== undefined;
    const isPossible = wasThere !== (change.type === 'plant.created');
    return isPossible ? [] : [`${show(change)} of a plant that is ${wasThere ? '' : 'not '}there`];
  });
}

function isSame(one: Row, other: Row): boolean {
  return one.name === other.name && one.tag === other.tag;
}

function show({ cursor, type, id, row }: FeedChange): string {
  return `${cursor} ${type} ${id} ${row?.name ?? ''}`;
}

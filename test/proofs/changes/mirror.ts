import { setTimeout as sleep } from 'node:timers/promises';
import { PlantStoreClient } from '../../../client/plant-store-client.js';
import { TOKEN } from '../../support/token.js';
import type { Row } from './change-ledger.js';

/** How long a mirror waits after an empty or failed page, in milliseconds. */
const PAUSE_MS = 20;

interface Change {
  readonly cursor: string;
  readonly type: string;
  readonly id: bigint | number;
  readonly at: string;
  readonly data?: Row;
}

/** A copy of the store that follows the feed until it is stopped. */
export class Mirror {
  /** The plants by their ids, each as JSON. */
  readonly rows = new Map<string, string>();
  /** The changes that were applied, each as JSON. */
  readonly changes: string[] = [];
  private readonly stopping = new AbortController();
  private following: Promise<void> = Promise.resolve();

  /** @param start the cursor after which the mirror begins */
  private constructor(
    readonly name: string,
    readonly start: string,
    public cursor = start,
  ) {}

  /** Begins as docs/changes.md describes, and follows the changes of the typed client. */
  static async onClient(name: string, origin: () => string): Promise<Mirror> {
    const client = new PlantStoreClient('http://127.0.0.1', TOKEN, {
      // Each request may go to another replica.
      fetch: (input, init) => {
        const { pathname, search } = new URL(input as string);
        return fetch(origin() + pathname + search, init);
      },
    });
    const mirror = await retry(() => Mirror.copy(name, client));
    mirror.following = mirror.follow(client);
    return mirror;
  }

  /** Begins with the oldest change, of an empty store, and follows the links of pages. */
  static onPages(name: string, origin: () => string): Mirror {
    const mirror = new Mirror(name, '');
    mirror.following = mirror.page(origin);
    return mirror;
  }

  private static async copy(name: string, client: PlantStoreClient): Promise<Mirror> {
    const mirror = new Mirror(name, await client.latestCursor());
    for await (const { id, ...row } of client.exportPlants()) {
      mirror.rows.set(String(id), writeRow(row));
    }
    return mirror;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.following;
  }

  private async follow(client: PlantStoreClient): Promise<void> {
    const { signal } = this.stopping;
    try {
      for await (const change of client.changes({ after: this.cursor, signal })) {
        this.apply(change);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  private async page(origin: () => string): Promise<void> {
    let path = '/changes?limit=7';
    while (!this.stopping.signal.aborted) {
      const page = await readPage(origin(), path);
      for (const change of page?.changes ?? []) this.apply(change);
      path = page?.next ?? path;
      if (page === undefined || page.changes.length === 0) await sleep(PAUSE_MS);
    }
  }

  private apply(change: Change): void {
    const { cursor, type, id, at, data } = change;
    this.cursor = cursor;
    const row = data === undefined ? undefined : writeRow(data);
    this.changes.push(writeChange({ cursor, type, id, at }, row));
    if (row === undefined) this.rows.delete(String(id));
    else this.rows.set(String(id), row);
  }
}

/** Reads all changes that the feed keeps, page by page. */
export async function readFeed(origin: string): Promise<{ changes: Change[]; texts: string[] }> {
  const changes: Change[] = [];
  for (let path = '/changes?limit=1000'; ;) {
    const page = await readPage(origin, path);
    if (page?.changes.length === 0) break;
    changes.push(...(page?.changes ?? []));
    path = page?.next ?? path;
  }
  const texts = changes.map((change) =>
    writeChange(change, change.data === undefined ? undefined : writeRow(change.data)),
  );
  return { changes, texts };
}

/** @returns undefined without an answer, or with 503 */
async function readPage(
  origin: string,
  path: string,
): Promise<{ changes: Change[]; next: string } | undefined> {
  try {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const response = await fetch(origin + path, { headers });
    const changes = (await response.json()) as Change[];
    if (response.status === 200) {
      return { changes, next: /<([^>]*)>/.exec(response.headers.get('link') ?? '')?.[1] ?? '' };
    }
    if (response.status !== 503) throw new RangeError(`${path}: ${JSON.stringify(changes)}`);
  } catch (error) {
    // fetch() throws a TypeError for a connection that a kill has closed.
    if (error instanceof RangeError) throw error;
  }
  return undefined;
}

export function writeRow({ name, tag }: Row | { name: string; tag: string | null }): string {
  return JSON.stringify({ name, tag: tag ?? undefined });
}

function writeChange({ cursor, type, id, at }: Change, row: string | undefined): string {
  return `${cursor} ${type} ${id} ${at} ${row ?? ''}`;
}

/** Repeats an action that a kill has interrupted. */
async function retry<Result>(act: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      console.log(`begins again: ${String(error)}`);
      await sleep(PAUSE_MS);
    }
  }
}

import { expect } from '@jest/globals';
import { SqliteReader } from '../../src/commands/sqlite-reader.js';
import { expectError } from './expect-error.js';
import type { Answer } from './test-app.js';
import { TOKEN } from './token.js';

/** Matches messages without internals: no engine, no system call and no path. */
export const NO_INNARDS: unknown = expect.not.stringMatching(
  /SQL|errno|ENO|plants\.db|disk|file|\//i,
);

/** How long an answer may take, in milliseconds: only a hanging program takes longer. */
const PATIENCE_MS = 240_000;

const NAME = 'Monstera';
/** A name for which a nearly full store has no space. */
export const LARGE_NAME = 'x'.repeat(50_000);

/** The creates to send while the store fails, and the expected answers. */
export interface Demand {
  /** The name of the plants, if only large plants fail. */
  readonly name?: string;
  /** Whether a create fails slowly, while the event loop must stay free. */
  readonly isSlow?: boolean;
}

/** A client that creates plants with different ids, and records which were acknowledged. */
export class PlantClient {
  private readonly acknowledged: number[] = [];
  private lastId = 0;

  async create(url: string, name = NAME): Promise<Answer> {
    return await this.send(url, ++this.lastId, name);
  }

  private async send(url: string, id: number, name: string): Promise<Answer> {
    const response = await fetch(`${url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ id, name }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { status, headers } = response;
    const text = await response.text();
    if (status === 200) this.acknowledged.push(id);
    return { status, headers, body: JSON.parse(text) as unknown, text };
  }

  /** Sends creates that fail together, while requests that need no store succeed. */
  async expectUnavailable(url: string, { name, isSlow = false }: Demand): Promise<void> {
    let areAnswered = false;
    const creates = Promise.all(Array.from({ length: 5 }, () => this.create(url, name)));
    void creates.then(() => (areAnswered = true));
    expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
    if (isSlow) expect(areAnswered).toBe(false);
    for (const answer of await creates) {
      if (answer.status === 200 && name !== undefined) continue;
      expectUnavailable(answer);
    }
    // A nearly full disk may still have stored the first of them.
    if (name !== undefined) expectUnavailable(await this.create(url, name));
  }

  /**
   * Checks that the store is sound, and has every acknowledged plant and no plant that was not
   * sent.
   */
  async expectAllStored(path: string): Promise<void> {
    const reader = await SqliteReader.open(path, 'ro');
    try {
      expect(await reader.findIntegrityFaults()).toEqual([]);
      const rows = await reader.all<{ id: number; name: string }>('SELECT id, name FROM plants');
      const stored = new Set(rows.map(({ id }) => id));
      expect(this.acknowledged.filter((id) => !stored.has(id))).toEqual([]);
      const isSent = ({ id, name }: { id: number; name: string }): boolean =>
        id <= this.lastId && [NAME, LARGE_NAME].includes(name);
      expect(rows.filter((row) => !isSent(row))).toEqual([]);
    } finally {
      await reader.close();
    }
  }
}

/** Checks that a create was refused with 503 and `Retry-After`. */
export function expectUnavailable(answer: Answer): void {
  expectError(answer, 'UNAVAILABLE', NO_INNARDS);
  expect(answer.headers.get('retry-after')).toBe('1');
}

import { expect } from '@jest/globals';
import { StoreReader } from '../../src/commands/store-reader.js';
import { expectError } from './expect-error.js';
import type { Answer } from './test-app.js';
import { TOKEN } from './token.js';

/** What a client may see of a fault: nothing of the engine or the system, and no path. */
export const NO_INNARDS: unknown = expect.not.stringMatching(
  /SQL|errno|ENO|plants\.db|disk|file|\//i,
);

/** How long an answer may take, in milliseconds: only a program that hangs takes so long. */
const PATIENCE_MS = 50_000;

const NAME = 'Monstera';
/** A name for which a store that is nearly full has no place. */
export const LARGE_NAME = 'x'.repeat(50_000);

/** What to expect of creates while the store fails. */
export interface Demand {
  /** What to create, when only large plants fail. */
  readonly name?: string;
  /** Whether a create takes its time to fail, during which the event loop must be free. */
  readonly isSlow?: boolean;
}

/** A client that creates plants, each with an id of its own, and knows which were acknowledged. */
export class PlantClient {
  private readonly acknowledged: number[] = [];
  private lastId = 0;

  async create(url: string, name = NAME): Promise<Answer> {
    return await this.send(url, ++this.lastId, name);
  }

  /** Sends the last create once more. */
  async retry(url: string): Promise<Answer> {
    return await this.send(url, this.lastId, NAME);
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

  /** Some creates fail together, and meanwhile the service answers what needs no store. */
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
    // A disk that is nearly full may still have taken the first of them.
    if (name !== undefined) expectUnavailable(await this.create(url, name));
  }

  /** Of what was sent, the store has everything that was acknowledged, and is sound. */
  async expectAllStored(path: string): Promise<void> {
    const reader = await StoreReader.open(path, 'ro');
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

/** Checks a create to be refused for now, in a way that its sender can act on. */
export function expectUnavailable(answer: Answer): void {
  expectError(answer, 'UNAVAILABLE', NO_INNARDS);
  expect(answer.headers.get('retry-after')).toBe('1');
}

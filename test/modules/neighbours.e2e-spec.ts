import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { type Entry, findFaults, Neighbours } from '../support/neighbour-load.js';
import { TestApp } from '../support/test-app.js';

const CONNECTIONS = 16;
/** How many creates, and how many entries of neighbours, there are at least. */
const CREATES = 400;
const ENTRIES = 60;
/** How many transactions and saves may end while a create waits: one of every loop. */
const MOST_BEFORE = 3 * 8;

describe('creates beside transactions and saves of other modules', () => {
  let app: TestApp;
  const entries: Entry[] = [];
  const outcomes = new Map<string, number>();
  let mostBefore = 0;
  let stored: Map<string, string>;

  beforeAll(async () => {
    app = await TestApp.start();
    const neighbours = new Neighbours(app.nest.get(DataSource), 1_000_001, (entry) => {
      entries.push(entry);
    });
    const createUntilEnough = async (): Promise<void> => {
      while (outcomes.size < CREATES || entries.length < ENTRIES) {
        const id = String(outcomes.size + 1);
        outcomes.set(id, 0);
        const before = entries.length;
        const { status } = await app.create(`{"id":${id},"name":"plant ${id}"}`);
        mostBefore = Math.max(mostBefore, entries.length - before);
        outcomes.set(id, status);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, createUntilEnough));
    await neighbours.stop();
    stored = new Map((await app.rows()).map(({ id, name }) => [id, name]));
  });

  afterAll(() => app.close());

  it('are all answered 200, and stored', () => {
    expect(new Set(outcomes.values())).toEqual(new Set([200]));
    expect([...outcomes.keys()].filter((id) => stored.get(id) !== `plant ${id}`)).toEqual([]);
  });

  it('leave each transaction whole or undone', () => {
    // On a busy machine some time out. These may fail, but must not be stored in part.
    const decided = entries.filter(({ error = '' }) => !/^(StoreUnavailable|Api)Error/.test(error));
    const kinds = new Set(decided.map(({ kind }) => kind));
    expect(kinds).toEqual(new Set(['committed', 'rolled back', 'saved']));
    expect(findFaults(decided, stored)).toEqual([]);
  });

  it('wait for a bounded number of them', () => {
    expect(mostBefore).toBeLessThanOrEqual(MOST_BEFORE);
  });
});

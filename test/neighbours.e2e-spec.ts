import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { type Entry, faultsOf, Neighbours } from './proofs/neighbours/neighbour-load.js';
import { TestApp } from './support/test-app.js';

const CONNECTIONS = 16;
const DURATION_MS = 2_000;
/** No create and no transaction that is itself short may wait longer, in milliseconds. */
const LONGEST_WAIT_MS = 2_000;

describe('creates beside transactions and saves of other modules', () => {
  let app: TestApp;
  const entries: Entry[] = [];
  const acknowledged: string[] = [];
  let longest = 0;
  let stored: Map<string, string>;

  beforeAll(async () => {
    app = await TestApp.start();
    const neighbours = new Neighbours(app.nest.get(DataSource), 1_000_001, (entry) => {
      entries.push(entry);
    });
    const end = performance.now() + DURATION_MS;
    let lastId = 0;
    const createUntilEnd = async (): Promise<void> => {
      while (performance.now() < end) {
        const id = String(++lastId);
        const began = performance.now();
        const { status } = await app.create(`{"id":${id},"name":"plant ${id}"}`);
        longest = Math.max(longest, performance.now() - began);
        if (status === 200) acknowledged.push(id);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, createUntilEnd));
    await neighbours.stop();
    stored = new Map((await app.rows()).map(({ id, name }) => [id, name]));
  });

  afterAll(() => app.close());

  it('are all stored', () => {
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(acknowledged.filter((id) => stored.get(id) !== `plant ${id}`)).toEqual([]);
  });

  it('leave every transaction whole or undone, and every save stored', () => {
    expect(new Set(entries.map(({ kind }) => kind))).toEqual(
      new Set(['committed', 'rolled back', 'saved']),
    );
    expect(faultsOf(entries, stored)).toEqual([]);
  });

  it('wait for them no longer than two seconds, nor they for each other', () => {
    expect(longest).toBeLessThan(LONGEST_WAIT_MS);
    expect(Math.max(...entries.map(({ took }) => took))).toBeLessThan(LONGEST_WAIT_MS);
  });
});

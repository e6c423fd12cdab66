import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TestApp } from '../support/test-app.js';
import { until } from '../support/until.js';

let app: TestApp;
let first: pg.Client;
let second: pg.Client;

beforeEach(async () => {
  app = await TestApp.start({ CHANGE_FEED: 'on' });
  [first, second] = [new pg.Client(app.storeUrl), new pg.Client(app.storeUrl)];
  await first.connect();
  await second.connect();
});
afterEach(async () => {
  await first.end();
  await second.end();
  await app.close();
});

async function listIds(query = ''): Promise<number[]> {
  const { body } = await app.get(`/changes${query}`);
  return (body as { id: number }[]).map(({ id }) => id);
}

/** How long changes have waited, in seconds, by the metrics. */
async function readDelay(): Promise<number> {
  const { text } = await app.get('/metrics');
  return Number(/^change_feed_delay_seconds (.+)$/m.exec(text)?.[1]);
}

describe('a change with a higher number than one that is not committed', () => {
  it('waits for it, so that nothing appears behind a cursor', async () => {
    await first.query('BEGIN');
    await first.query(`INSERT INTO plants (id, name) VALUES (1, 'first number')`);
    await second.query(`INSERT INTO plants (id, name) VALUES (2, 'second number')`);
    expect(await listIds()).toEqual([]);
    await until(async () => (await readDelay()) > 0);
    await first.query('COMMIT');
    expect(await listIds()).toEqual([1, 2]);
    expect(await readDelay()).toBe(0);
  });

  it('appears when the other one is rolled back', async () => {
    await first.query('BEGIN');
    await first.query(`INSERT INTO plants (id, name) VALUES (1, 'undone')`);
    await second.query(`INSERT INTO plants (id, name) VALUES (2, 'done')`);
    expect(await listIds()).toEqual([]);
    await first.query('ROLLBACK');
    expect(await listIds()).toEqual([2]);
  });

  it('waits for transactions with higher numbers too', async () => {
    await second.query('BEGIN');
    // It takes the lower transaction number, and then the higher number of a change.
    await second.query('SELECT pg_current_xact_id()');
    await first.query('BEGIN');
    await first.query(`INSERT INTO plants (id, name) VALUES (1, 'n')`);
    await second.query(`INSERT INTO plants (id, name) VALUES (2, 'n')`);
    await second.query('COMMIT');
    expect(await listIds()).toEqual([]);
    await first.query('COMMIT');
    expect(await listIds()).toEqual([1, 2]);
  });
});

/** The connections that keep programs with the feed off from starting. */
async function findLockHolders(): Promise<number[]> {
  const { rows } = await first.query<{ pid: number }>(
    `SELECT pid FROM pg_locks JOIN pg_database ON oid = database
     WHERE datname = current_database() AND locktype = 'advisory' AND mode = 'ShareLock'`,
  );
  return rows.map(({ pid }) => pid);
}

describe('a program with the feed on', () => {
  it('reconnects when the server has closed its connection', async () => {
    const [lost] = await findLockHolders();
    await first.query('SELECT pg_terminate_backend($1)', [lost]);
    await until(async () => (await findLockHolders()).some((pid) => pid !== lost));
  });
});

describe('a program with the feed off', () => {
  it('does not start beside one with it on', async () => {
    const { storeUrl: DATABASE_URL } = app;
    await expect(TestApp.start({ CHANGE_FEED: 'off', DATABASE_URL })).rejects.toThrow(
      'Another program on this store has CHANGE_FEED=on',
    );
    const other = await TestApp.start({ CHANGE_FEED: 'on', DATABASE_URL });
    await other.create('{"id":1,"name":"n"}');
    expect(await listIds()).toEqual([1]);
    await other.close();
  });
});

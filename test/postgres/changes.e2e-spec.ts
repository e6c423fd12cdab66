import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { FEED, latestCursor } from '../support/change-feed.js';
import { expectError } from 'durable-rest/testing';
import { PostgresServer } from '../../packages/platform/src/testing/postgres-server.js';
import { TestApp } from '../support/fixture-app.js';

let first: pg.Client;
let second: pg.Client;

afterEach(async () => {
  await first.end();
  await second.end();
});

const app = TestApp.forEach(FEED);

beforeEach(async () => {
  [first, second] = [new pg.Client(app.storeUrl), new pg.Client(app.storeUrl)];
  await first.connect();
  await second.connect();
});

async function listIds(from = app, query = ''): Promise<number[]> {
  const { body } = await from.get(`/changes${query}`);
  return (body as { id: number }[]).map(({ id }) => id);
}

function insert(client: pg.Client, id: number): Promise<unknown> {
  return client.query('INSERT INTO plants (id, name) VALUES ($1, $2)', [id, 'n']);
}

it('a change waits for all transactions that may have lower numbers, so that nothing appears behind a cursor', async () => {
  await second.query('BEGIN');
  // It takes the lower transaction number, and then the higher number of a change.
  await second.query('SELECT pg_current_xact_id()');
  await first.query('BEGIN');
  await insert(first, 1);
  await insert(second, 2);
  await second.query('COMMIT');
  expect(await listIds()).toEqual([]);
  await first.query('COMMIT');
  expect(await listIds()).toEqual([1, 2]);
});

it('a change waits for a prepared transaction too', async () => {
  const server = await PostgresServer.start({
    'postgresql.auto.conf': 'max_prepared_transactions = 1\n',
  });
  const preparing = new pg.Client(server.url());
  const other = new pg.Client(server.url());
  const own = await TestApp.start({ ...FEED, DATABASE_URL: server.url() });
  try {
    await preparing.connect();
    await preparing.query('BEGIN');
    await insert(preparing, 1);
    await other.connect();
    await insert(other, 2);
    expect(await listIds(own)).toEqual([]);
    // From now on it belongs to no session.
    await preparing.query("PREPARE TRANSACTION 'first'");
    expect(await listIds(own)).toEqual([]);
    await other.query("COMMIT PREPARED 'first'");
    expect(await listIds(own)).toEqual([1, 2]);
  } finally {
    await preparing.end();
    await other.end();
    await own.close();
    await server.remove();
  }
});

it('a program that starts while a transaction is open gives the same changes and latest cursor as the others', async () => {
  for (const id of [1, 2, 3]) await insert(first, id);
  expect(await listIds()).toEqual([1, 2, 3]);
  await second.query('BEGIN');
  await insert(second, 4);
  const other = await TestApp.start({ ...FEED, DATABASE_URL: app.storeUrl });
  try {
    expect(await listIds(other)).toEqual([1, 2, 3]);
    expect(await latestCursor(other)).toBe(await latestCursor(app));
    await second.query('COMMIT');
    expect(await listIds(other)).toEqual([1, 2, 3, 4]);
  } finally {
    await other.close();
  }
});

/** The tables of the store as of one moment, as pg_dump reads them. */
async function dump(client: pg.Client): Promise<Record<string, object[]>> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const tables: Record<string, object[]> = {};
  for (const table of ['plants', 'changes', 'change_feed']) {
    tables[table] = (await client.query<object>(`SELECT * FROM ${table}`)).rows;
  }
  await client.query('COMMIT');
  return tables;
}

/** Fills the store of a program with these rows only, as pg_restore does. */
async function restore(tables: Record<string, object[]>, client: pg.Client): Promise<void> {
  await client.query('SET session_replication_role = replica');
  for (const [table, rows] of Object.entries(tables)) {
    await client.query(`DELETE FROM ${table}`);
    const insertion = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`;
    await client.query(insertion, [JSON.stringify(rows)]);
  }
  await client.query(
    `SELECT setval('changes_number', greatest(1, (SELECT max(number) FROM changes)))`,
  );
  await client.query('RESET session_replication_role');
}

describe('a mirror of a database that is restored from a dump', () => {
  const restored = TestApp.forEach(FEED);

  it('is told so if a lower number was committed after the dump was made, and else goes on', async () => {
    await insert(first, 1);
    const before = await latestCursor(app);
    await first.query('BEGIN');
    await insert(first, 2);
    await insert(second, 3);
    const tables = await dump(second);
    await first.query('COMMIT');
    const ahead = await latestCursor(app);
    const client = new pg.Client(restored.storeUrl);
    await client.connect();
    await restore(tables, client);
    expectError(await restored.get(`/changes?after=${ahead}`), 'CHANGES_GONE');
    await insert(client, 4);
    await client.end();
    expectError(await restored.get(`/changes?after=${ahead}`), 'CHANGES_GONE');
    expect(await listIds(restored, `?after=${before}`)).toEqual([3, 4]);
  });
});

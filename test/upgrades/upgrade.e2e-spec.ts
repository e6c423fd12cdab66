import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import pg from 'pg';
import { BatchedRepository } from 'durable-rest';
import { ENGINE, TestStore } from 'durable-rest/testing';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { SqliteConnection } from '../../packages/store/src/sqlite/sqlite-connection.js';
import { schema } from '../../src/schema.js';
import { schema as fixtures } from '../fixtures/schema.js';
import { openStore } from '../support/store.js';
import { FEED } from '../support/change-feed.js';
import { TestApp } from '../support/test-app.js';

/** The stores of several versions with the same four plants, as SQL. */
const STORES = new URL('.', import.meta.url);
const VERSIONS = readdirSync(STORES)
  .filter((file) => file.endsWith(`.${ENGINE}.sql`))
  .map((file) => file.replace(`.${ENGINE}.sql`, ''));

const PLANTS = [
  '{"id":-9223372036854775808,"name":"least"}',
  '{"id":1,"name":"Monstera","tag":"climber"}',
  '{"id":9007199254740993,"name":"Ficus 🌿","tag":""}',
  '{"id":9223372036854775807,"name":"","tag":"climber"}',
];

let store: TestStore;

beforeEach(async () => {
  store = await TestStore.create();
});

afterEach(() => store.remove());

async function execute(sql: string): Promise<void> {
  if (ENGINE === 'postgres') {
    const client = new pg.Client(store.url);
    await client.connect();
    await client.query(sql);
    await client.end();
    return;
  }
  const path = store.url.replace('sqlite:', '');
  writeFileSync(path, '');
  const connection = await SqliteConnection.open(path);
  await connection.exec(sql);
  await connection.close();
}

/** Opens the store as a start does, and resolves with the logged lines. */
async function upgrade(): Promise<string[]> {
  const lines: string[] = [];
  await (await openStore(store.url, schema, (line) => lines.push(line))).destroy();
  return lines;
}

/** Opens a store as a start does, and reads its index for lists of a tag. */
async function readTagIndex(url: string): Promise<unknown[]> {
  const dataSource = await openStore(url, schema);
  const sql =
    ENGINE === 'postgres'
      ? "SELECT indexdef FROM pg_indexes WHERE indexname = 'plants_tag'"
      : "SELECT sql FROM sqlite_schema WHERE name = 'plants_tag'";
  const indexes = await dataSource.query<unknown[]>(sql);
  await dataSource.destroy();
  return indexes;
}

describe.each(VERSIONS)('a store that version %s has made', (version) => {
  beforeEach(() => execute(readFileSync(new URL(`${version}.${ENGINE}.sql`, STORES), 'utf8')));

  it('is upgraded by the first start alone, which logs it', async () => {
    const [first, second, ...others] = await upgrade();
    const last = schema.migrations.at(-1)?.name ?? '';
    expect(first).toMatch(new RegExp(`^Migrating the schema from \\w+\\d{13} to ${last}$`));
    expect(second).toMatch(/^Migrated the schema in \d+\.\d seconds$/);
    expect(others).toEqual([]);
    expect(await upgrade()).toEqual([]);
  });

  it('has the same plants in every order, and takes others', async () => {
    const app = await TestApp.start({ DATABASE_URL: store.url });
    const list = async (query: string): Promise<string> => (await app.get(`/plants${query}`)).text;
    const [least, monstera, ficus, last] = PLANTS;
    expect(await list('')).toBe(`[${PLANTS.join()}]`);
    expect(await list('?tag=climber')).toBe(`[${[monstera, last].join()}]`);
    expect(await list('?sort=-name')).toBe(`[${[monstera, least, ficus, last].join()}]`);
    for (const plant of PLANTS) {
      const { body } = await app.create(plant);
      expect([plant, body]).toMatchObject([plant, { error: 40901 }]);
    }
    expect(await app.create('{"id":2,"name":"new"}')).toMatchObject({ status: 200 });
    await app.close();
  });

  it('has the index of a new store for lists of a tag', async () => {
    const other = await TestStore.create();
    const ofNewStore = await readTagIndex(other.url);
    await other.remove();
    expect(ofNewStore).toHaveLength(1);
    expect(await readTagIndex(store.url)).toEqual(ofNewStore);
  });

  it('takes plants of a command that upgrades it without a setting of the feed', async () => {
    const dataSource = await openStore(store.url, schema);
    const plants = new BatchedRepository(dataSource.getRepository(Plant));
    expect(await plants.create({ id: '2', name: 'new' })).toBe('created');
    await dataSource.destroy();
  });

  it('has a feed that begins at the upgrade', async () => {
    const app = await TestApp.start({ ...FEED, DATABASE_URL: store.url });
    expect((await app.get('/changes')).body).toEqual([]);
    await app.create('{"id":2,"name":"new"}');
    await app.delete('/plants/1');
    expect((await app.get('/changes')).body).toMatchObject([
      { type: 'plant.created', id: 2 },
      { type: 'plant.removed', id: 1 },
    ]);
    await app.close();
  });
});

it('the last migration is undone although a retired one was executed later', async () => {
  const dataSource = await openStore(store.url);
  const listExecuted = async (): Promise<string[]> => {
    const rows = await dataSource.query<{ name: string }[]>('SELECT name FROM migrations');
    return rows.map(({ name }) => name);
  };
  const last = fixtures.migrations.at(-1)?.name;
  const [retired] = fixtures.retired ?? [];
  await dataSource.query(`INSERT INTO migrations (timestamp, name) VALUES (1, '${retired}')`);
  await dataSource.undoLastMigration();
  expect(await listExecuted()).toContain(retired);
  expect(await listExecuted()).not.toContain(last);
  await dataSource.runMigrations();
  expect(await listExecuted()).toContain(last);
  await dataSource.destroy();
});

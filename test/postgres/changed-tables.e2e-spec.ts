import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Column, Entity, type EntityManager, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import pg from 'pg';
import {
  BatchedRepository,
  CreateTable,
  int32,
  int64,
  nullable,
  RecordChanges,
  StoreUnavailableError,
  text,
} from 'durable-rest';
import { createDataSourceOptions, platformSchema } from 'durable-rest/program';
import { expectError, TestStore, until } from 'durable-rest/testing';
import { FEED } from '../support/change-feed.js';
import { recordLog } from '../support/record-log.js';
import { TestApp } from '../support/fixture-app.js';

@Entity('things')
@RecordChanges('thing')
class Thing {
  @PrimaryColumn(text())
  id!: string;

  @Column(text())
  name!: string;

  @Column(nullable(int32()))
  size!: number | null;
}

class CreateThings1700000000000 extends CreateTable({
  name: 'things',
  columns: { id: text(), name: text(), size: nullable(int32()), unused: nullable(text()) },
  key: ['id'],
}) {}

@Entity('notes')
@RecordChanges('note')
class Note {
  @PrimaryGeneratedColumn(int64())
  id!: string;

  @Column(text())
  name!: string;
}

class CreateNotes1700000000001 extends CreateTable({
  name: 'notes',
  columns: { id: int64(), name: text(), unused: nullable(text()) },
  key: ['id'],
  countsUp: true,
}) {}

const SCHEMA = {
  entities: [...platformSchema.entities, Thing, Note],
  migrations: [...platformSchema.migrations, CreateThings1700000000000, CreateNotes1700000000001],
};

const CONNECTIONS = 4;

let store: TestStore;
let dataSource: StoreDataSource;
/** Another program, which changes tables. */
let other: pg.Pool;
let things: BatchedRepository<Thing>;
let notes: BatchedRepository<Note>;
let created: number;

async function open(CHANGE_FEED: 'on' | 'off'): Promise<void> {
  Logger.overrideLogger(false);
  store = await TestStore.create();
  const env = { DATABASE_URL: store.url, DATABASE_POOL_SIZE: CONNECTIONS, CHANGE_FEED };
  const options = createDataSourceOptions(env, SCHEMA);
  dataSource = await openDatabase({ ...options, logger: 'debug' });
  other = openOther();
  things = new BatchedRepository(dataSource.getRepository(Thing));
  notes = new BatchedRepository(dataSource.getRepository(Note));
  created = 0;
}

function openOther(): pg.Pool {
  const pool = new pg.Pool({ connectionString: store.url });
  // The database is removed while its last connections end.
  return pool.on('error', () => undefined);
}

/** Changes a table. The connections of the other program may be stale as well. */
async function changeTable(sql: string): Promise<void> {
  await other.query(sql);
  await other.end();
  other = openOther();
}

async function close(): Promise<void> {
  await other.end();
  await dataSource.destroy();
  await store.remove();
}

function thing(id: string): Thing {
  return { id, name: `name of ${id}`, size: 1 };
}

/** A row of its own for each call of an operation. */
async function createThing(): Promise<Thing> {
  const row = thing(`thing ${++created}`);
  await other.query('INSERT INTO things (id, name, size) VALUES ($1, $2, $3)', [
    row.id,
    row.name,
    row.size,
  ]);
  return row;
}

async function readLines(): Promise<string> {
  const { json } = await things.page({ limit: 1_000, format: 'lines' });
  let lines = '';
  for await (const piece of json as AsyncIterable<string>) lines += piece;
  return lines;
}

const inTransaction = (work: (manager: EntityManager) => Promise<unknown>): Promise<unknown> =>
  dataSource.transaction(work);

/** The operations that run in batches. */
const BATCHED: Record<string, () => Promise<unknown>> = {
  create: () => things.create(thing(`created ${++created}`)),
  'create of a row that exists': async () => things.create(await createThing()),
  createAll: () => things.createAll([thing(`listed ${++created}`), thing(`listed ${++created}`)]),
  add: () => notes.add({ name: 'note' }),
  replace: async () => things.replace({ ...(await createThing()), size: 2 }),
  'replace with a check': async () => things.replace(await createThing(), () => undefined),
  change: async () => things.change((await createThing()).id, (row) => row && { ...row, size: 3 }),
  remove: async () => things.remove((await createThing()).id),
  'remove of a missing row': () => things.remove('missing'),
  'remove with a check': async () => things.remove((await createThing()).id, () => undefined),
  find: async () => things.find((await createThing()).id),
  list: () => things.list({ limit: 2 }, { name: 'name' }),
  page: () => things.page({ limit: 2 }),
  'page with a condition': () => things.page({ limit: 2 }, { size: 1 }),
  lines: readLines,
};

/** The operations on a connection that a module holds. */
const OWN: Record<string, () => Promise<unknown>> = {
  'create in a transaction': () =>
    inTransaction((manager) => things.create(thing(`created ${++created}`), manager)),
  'change in a transaction': async () => {
    const { id } = await createThing();
    return await inTransaction((manager) =>
      things.change(id, (row) => row && { ...row, size: 4 }, manager),
    );
  },
  'find in a transaction': () => inTransaction((manager) => things.find('missing', manager)),
  save: () => dataSource.getRepository(Thing).save(thing(`saved ${++created}`)),
  'query()': () => dataSource.query('SELECT * FROM things'),
  'query() that writes': () =>
    dataSource.query(`INSERT INTO notes (name) VALUES ('written') RETURNING *`),
};

/** Executes each operation on all connections at once, several times. */
async function prepareConnections(): Promise<void> {
  for (const operation of [...Object.values(BATCHED), ...Object.values(OWN)]) {
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 2 * CONNECTIONS }, operation));
    }
  }
}

/** Lists the errors of an operation that is executed on all connections at once. */
async function listFailures(operation: () => Promise<unknown>): Promise<unknown[]> {
  const outcomes = await Promise.allSettled(Array.from({ length: CONNECTIONS }, operation));
  return outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
}

function isUnavailable(error: unknown): boolean {
  return error instanceof StoreUnavailableError;
}

/** DDL after which the statements of the program are still valid. */
const HARMLESS = [
  'ALTER TABLE things ALTER name TYPE varchar(300)',
  'ALTER TABLE things ALTER id TYPE varchar(300)',
  'ALTER TABLE things ALTER size TYPE bigint',
  'ALTER TABLE things ADD colour text',
  'ALTER TABLE things ADD weight integer NOT NULL DEFAULT 1',
  'ALTER TABLE things DROP unused',
  'ALTER TABLE things ALTER size SET DEFAULT 5, ALTER name SET NOT NULL',
  'CREATE INDEX ON things (size)',
  'ALTER TABLE things ADD CHECK (size < 1000)',
  'VACUUM FULL things',
  'ALTER TABLE notes ALTER name TYPE varchar(300), DROP unused',
  'ALTER TABLE notes ALTER id TYPE numeric(18)',
  `CREATE OR REPLACE FUNCTION longest() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN NEW.name := left(NEW.name, 300); RETURN NEW; END $$;
   CREATE TRIGGER longest BEFORE INSERT OR UPDATE ON things FOR EACH ROW EXECUTE FUNCTION longest()`,
];

describe.each(['on', 'off'] as const)('with CHANGE_FEED=%s', (CHANGE_FEED) => {
  beforeEach(() => open(CHANGE_FEED));
  afterEach(close);

  it('no caller notices that another program changes a table in use', async () => {
    await prepareConnections();
    for (const sql of HARMLESS) {
      await changeTable(sql);
      for (const [name, operation] of Object.entries(BATCHED)) {
        const failures = await listFailures(operation);
        expect({ sql, name, failures }).toEqual({ sql, name, failures: [] });
      }
      let unavailable = 0;
      for (const [name, operation] of Object.entries(OWN)) {
        const failures = await listFailures(operation);
        const others = failures.filter((one) => !isUnavailable(one));
        expect({ sql, name, others }).toEqual({ sql, name, others: [] });
        unavailable += failures.length;
      }
      expect(unavailable).toBeLessThanOrEqual(CONNECTIONS);
      await prepareConnections();
    }
  });

  it('the outcomes are right although a connection was replaced between two statements', async () => {
    await prepareConnections();
    const row = await createThing();
    await changeTable('ALTER TABLE things ALTER name TYPE varchar(300)');
    const outcomes = await Promise.all([
      things.create(thing('new')),
      things.create(row),
      things.create({ ...row, size: 7 }),
      things.change(row.id, (current) => current && { ...current, size: 8 }),
      things.replace({ ...row, size: 9 }),
    ]);
    expect(outcomes).toEqual(['created', 'identical', 'different', { ...row, size: 8 }, true]);
    expect(await things.find(row.id)).toEqual({ ...row, size: 9 });
  });

  describe('no write is made after a change of its table that it does not suit, until it is undone:', () => {
    it.each([
      ['ALTER TABLE things RENAME name TO title', /"name" of relation "things"/],
      ['ALTER TABLE things DROP name', /"name" of relation "things"/],
      ['ALTER TABLE things ALTER name TYPE integer USING 1', /column "name" is of type integer/],
      [
        'ALTER TABLE things ALTER id TYPE integer USING hashtext(id)',
        /id" is of type integer|integer = text, .*"things"."id" = /,
      ],
      ['ALTER TABLE things RENAME TO objects', /relation "things" does not exist/],
      ['DROP TABLE things', /relation "things" does not exist/],
    ])('%s', async (sql, line) => {
      await prepareConnections();
      await expect(dataSource.probeWrite()).resolves.toBeUndefined();
      const logged: string[] = [];
      dataSource.failures.report = ({ message }): void => void logged.push(message);
      await other.query('CREATE TABLE copy (LIKE things INCLUDING ALL)');
      await other.query(sql);
      const writes = [
        () => things.create(thing('new')),
        () => things.replace(thing('new')),
        () => inTransaction((manager) => things.create(thing('new'), manager)),
      ];
      for (const write of writes) {
        const failure: unknown = await write().catch((error: unknown) => error);
        expect([write, failure, isUnavailable(failure)]).toEqual([write, failure, true]);
      }
      expect(logged[0]).toMatch(line);
      expect(logged[0]).toContain('things');
      await expect(dataSource.probeWrite()).rejects.toThrow(line);
      await other.query('DROP TABLE IF EXISTS things, objects');
      await other.query('ALTER TABLE copy RENAME TO things');
      expect(await things.create(thing('a'))).toBe('created');
      expect(await things.replace(thing('a'))).toBe(true);
      await expect(dataSource.probeWrite()).resolves.toBeUndefined();
    });
  });
});

describe('a program whose table was changed', () => {
  const app = TestApp.forEach(FEED);

  it('is not ready while every write fails, and says which table and column it is', async () => {
    const isReady = async (): Promise<boolean> => (await app.get('/health/ready')).status === 200;
    const lines = recordLog(app, 'error');
    await app.create('{"id":1,"name":"a"}');
    await until(isReady);
    await app.query('ALTER TABLE plants RENAME name TO title');
    expectError(await app.create('{"id":2,"name":"b"}'), 'UNAVAILABLE');
    await until(async () => !(await isReady()));
    const [line = ''] = lines;
    expect(line).toContain('column \\"name\\" of relation \\"plants\\" does not exist');
    await app.query('ALTER TABLE plants RENAME title TO name');
    await until(isReady);
    expect(await app.create('{"id":2,"name":"b"}')).toMatchObject({ status: 200 });
    expect(await app.rows()).toHaveLength(2);
  });
});

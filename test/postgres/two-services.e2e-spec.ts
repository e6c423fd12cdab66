import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { BatchedRepository, CreateTable, Jobs, type JsonText, text } from 'durable-rest';
import { createDataSourceOptions, platformSchema, type Schema } from 'durable-rest/program';
import { TestStore, until } from 'durable-rest/testing';
import { Plant } from '../fixtures/plant.entity.js';
import { schema } from '../fixtures/schema.js';
import { ChangeFeed } from '../../packages/store/src/change-feed/change-feed.js';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import { DatabaseStartError } from '../../packages/store/src/errors/store.errors.js';
import { plant } from '../support/store.js';

/** A program on the database. */
interface Service {
  readonly role: string;
  /** Undefined for that of the database, which is PostgreSQL's default: "$user", public. */
  readonly searchPath?: string;
  /** The schema of its tables. */
  readonly schema: string;
}

type Feed = 'on' | 'off' | undefined;

let store: TestStore;
/** A superuser. */
let admin: pg.Client;
/** The names of roles, which a server has only once. */
let [one, two] = ['', ''];
let opened: StoreDataSource[];

beforeEach(async () => {
  Logger.overrideLogger(false);
  store = await TestStore.create();
  admin = new pg.Client(store.url);
  await admin.connect();
  const suffix = randomBytes(6).toString('hex');
  [one, two] = [`one_${suffix}`, `two_${suffix}`];
  opened = [];
  await execute(
    `CREATE ROLE ${one} LOGIN`,
    `CREATE ROLE ${two} LOGIN`,
    'GRANT ALL ON SCHEMA public TO public',
  );
});

afterEach(async () => {
  await Promise.all(opened.map((dataSource) => dataSource.destroy()));
  await execute(`DROP OWNED BY ${one}, ${two} CASCADE`, `DROP ROLE ${one}, ${two}`);
  await admin.end();
  await store.remove();
});

async function execute(...statements: string[]): Promise<void> {
  for (const sql of statements) await admin.query(sql);
}

async function start(
  { role, searchPath }: Omit<Service, 'schema'>,
  CHANGE_FEED?: Feed,
  tables: Schema = schema,
): Promise<StoreDataSource> {
  const DATABASE_URL = Object.assign(new URL(store.url), { username: role }).href;
  const env = { DATABASE_URL, DATABASE_POOL_SIZE: 2, ...(CHANGE_FEED && { CHANGE_FEED }) };
  const options = createDataSourceOptions(env, tables);
  const { extra } = options as { extra: object };
  const path = searchPath === undefined ? {} : { options: `-c search_path=${searchPath}` };
  const dataSource = await openDatabase({
    ...options,
    extra: { ...extra, ...path },
    logger: 'debug',
  });
  opened.push(dataSource);
  return dataSource;
}

function plantsOf(dataSource: StoreDataSource): BatchedRepository<Plant> {
  return new BatchedRepository(dataSource.getRepository(Plant));
}

/** Reads the names of the plants in the feed, and removes those that are too old. */
async function readFeed(dataSource: StoreDataSource): Promise<string[]> {
  const feed = new ChangeFeed(dataSource, 60_000);
  await feed.removeOld();
  const { json } = await feed.read(undefined, 100);
  const changes = JSON.parse((json as JsonText).text) as { data: { name: string } }[];
  return changes.map(({ data }) => data.name);
}

/** Everything in a schema: the rows of its tables, and what they and its functions are. */
async function dump(name: string): Promise<unknown> {
  const list = async (sql: string): Promise<Record<string, string>[]> => {
    const result = await admin.query<Record<string, string>>(sql, [name]);
    return result.rows;
  };
  const tables = await list('SELECT tablename AS name FROM pg_tables WHERE schemaname = $1');
  const rows: unknown[] = [];
  for (const table of tables) {
    const result = await admin.query(`SELECT xmin, * FROM ${name}.${table.name} ORDER BY 2`);
    rows.push(table.name, result.rows);
  }
  return {
    rows,
    classes: await list(
      'SELECT oid, relname, relfilenode FROM pg_class WHERE relnamespace = $1::regnamespace ORDER BY oid',
    ),
    functions: await list(
      'SELECT oid, xmin, prosrc FROM pg_proc WHERE pronamespace = $1::regnamespace ORDER BY oid',
    ),
    triggers: await list(
      `SELECT pg_trigger.oid, pg_trigger.xmin, tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
       WHERE relnamespace = $1::regnamespace ORDER BY pg_trigger.oid`,
    ),
  };
}

type Case = [string, () => [first: Service, second: Service], string[]];

describe('two services in one database touch only their own schemas:', () => {
  it.each<Case>([
    [
      'one role, and a search path for each',
      () => [
        { role: one, searchPath: 'a', schema: 'a' },
        { role: one, searchPath: 'b', schema: 'b' },
      ],
      ['a', 'b'],
    ],
    [
      'one role, and search paths that end alike',
      () => [
        { role: one, searchPath: 'a,public', schema: 'a' },
        { role: one, searchPath: 'b,public', schema: 'b' },
      ],
      ['a', 'b'],
    ],
    [
      'two roles, each with a schema of its own',
      () => [
        { role: one, schema: one },
        { role: two, schema: two },
      ],
      [],
    ],
    [
      'two roles, of which only the second has a schema of its own',
      () => [
        { role: one, schema: 'public' },
        { role: two, schema: two },
      ],
      [],
    ],
    [
      'a second role that may do anything',
      () => [
        { role: one, schema: 'public' },
        { role: two, schema: two },
      ],
      ['superuser'],
    ],
  ])('%s', async (_, list, more) => {
    const [first, second] = list();
    if (more.includes('superuser')) await execute(`ALTER ROLE ${two} SUPERUSER`);
    for (const service of [first, second]) {
      if (service.schema === 'public') continue;
      await execute(`CREATE SCHEMA ${service.schema} AUTHORIZATION ${service.role}`);
    }
    const a = await start(first, 'on');
    expect(await plantsOf(a).create(plant(1, 'first'))).toBe('created');
    expect(await new Jobs(a).claimRun('water', new Date(1))).toBe(true);
    expect(await readFeed(a)).toEqual(['first']);
    const before = await dump(first.schema);

    const b = await start(second, 'on');
    expect(b.isNew).toBe(true);
    expect(await plantsOf(b).find('1')).toBeUndefined();
    expect(await plantsOf(b).create(plant(1, 'second'))).toBe('created');
    expect(await new Jobs(b).claimRun('water', new Date(1))).toBe(true);
    expect(await readFeed(b)).toEqual(['second']);
    expect(await dump(first.schema)).toEqual(before);

    const inSecond = await dump(second.schema);
    expect(await readFeed(a)).toEqual(['first']);
    expect(await plantsOf(a).create(plant(2, 'third'))).toBe('created');
    expect(await readFeed(a)).toEqual(['first', 'third']);
    expect(await dump(second.schema)).toEqual(inSecond);

    for (const CHANGE_FEED of ['on', undefined, 'off', undefined, 'on'] as const) {
      for (const [service, neighbour] of [
        [first, second],
        [second, first],
      ] as const) {
        const untouched = await dump(neighbour.schema);
        const again = await start(service, CHANGE_FEED);
        expect(again.isNew).toBe(false);
        const name = `with the feed ${String(CHANGE_FEED)}`;
        expect(await plantsOf(again).change('1', (row) => row && { ...row, name })).toEqual({
          ...plant(1, name),
        });
        await readFeed(again).catch(() => undefined);
        expect(await dump(neighbour.schema)).toEqual(untouched);
        await again.destroy();
      }
    }
    const untouched = await dump(first.schema);
    await b.undoLastMigration();
    expect(await dump(first.schema)).toEqual(untouched);
    expect(await readFeed(a)).toEqual(['with the feed on']);
  });
});

describe('a schema that is made later, and comes first in the search path,', () => {
  it.each<[string, () => Service]>([
    ['the schema of the role', () => ({ role: one, schema: one })],
    ['a named schema', () => ({ role: one, searchPath: 'later,public', schema: 'later' })],
  ])('does not hide the store: %s', async (_, get) => {
    const service = get();
    const first = await start(service, 'on');
    await plantsOf(first).create(plant(1));
    await execute(`CREATE SCHEMA ${service.schema} AUTHORIZATION ${one}`);
    // New connections of the running program.
    await execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${one}'`,
    );
    const plants = plantsOf(first);
    await until(() =>
      plants.create(plant(2)).then(
        () => true,
        () => false,
      ),
    );
    await until(() =>
      readFeed(first).then(
        (names) => names.includes('plant 2'),
        () => false,
      ),
    );
    for (const CHANGE_FEED of ['on', 'off', undefined] as const) {
      const failure: unknown = await start(service, CHANGE_FEED).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(DatabaseStartError);
      expect((failure as Error).message).toBe(
        `The schema ${service.schema} has no store, but public has, which follows in the search_path of the role ${one}: execute ALTER ROLE ${one} SET search_path = public, or = ${service.schema} for a new store`,
      );
    }
    const { rows } = await admin.query('SELECT 1 FROM pg_tables WHERE schemaname = $1', [
      service.schema,
    ]);
    expect(rows).toEqual([]);
    await execute(`ALTER ROLE ${one} SET search_path = public`);
    const again = await start({ role: one }, 'on');
    expect(await plantsOf(again).find('1')).toEqual(plant(1));
    await execute(`ALTER ROLE ${one} SET search_path = ${service.schema}`);
    expect((await start({ role: one }, 'on')).isNew).toBe(true);
  });

  it.each<[string, () => Promise<unknown>]>([
    [
      'of another service of the role',
      () => {
        class CreateTrays1700000000000 extends CreateTable({
          name: 'trays',
          columns: { id: text() },
          key: ['id'],
        }) {}
        const { entities, migrations } = platformSchema;
        const other = { entities, migrations: [...migrations, CreateTrays1700000000000] };
        return start({ role: one }, 'on', other);
      },
    ],
    ['of a service of another role', () => start({ role: two }, 'on')],
    [
      'of a program that is not made with TypeORM',
      () =>
        execute(
          `SET ROLE ${one}`,
          'CREATE TABLE public.migrations (id int, migration text)',
          'INSERT INTO public.migrations VALUES (1, $$a$$)',
          'RESET ROLE',
        ),
    ],
  ])('may be the one of a new store beside the tables %s', async (_, prepare) => {
    await prepare();
    const before = await dump('public');
    await execute(`CREATE SCHEMA ${one} AUTHORIZATION ${one}`);
    const dataSource = await start({ role: one }, 'on');
    expect(await plantsOf(dataSource).create(plant(1))).toBe('created');
    expect(await dump('public')).toEqual(before);
  });
});

it('an index of another schema stays when a migration drops one of its name', async () => {
  await execute(
    `CREATE SCHEMA ${one} AUTHORIZATION ${one}`,
    `ALTER ROLE ${one} SUPERUSER`,
    'CREATE TABLE public.pots (id int)',
    'CREATE INDEX pots_id ON public.pots (id)',
  );
  const dataSource = await start({ role: one });
  const queryRunner = dataSource.createQueryRunner();
  await new dataSource.SchemaSteps(queryRunner).dropIndex('pots_id');
  await queryRunner.release();
  const { rows } = await admin.query(`SELECT 1 FROM pg_indexes WHERE indexname = 'pots_id'`);
  expect(rows).toHaveLength(1);
});

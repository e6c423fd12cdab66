import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import workerConsole from 'node:console';
import {
  Check,
  Column,
  Entity,
  ForeignKey,
  Index,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Table,
  TableForeignKey,
  Unique,
} from 'typeorm';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { SqlInMemory } from 'typeorm/driver/SqlInMemory.js';
import { Plant } from '../fixtures/plant.entity.js';
import { changeSchema, int64, nullable, RecordChanges, text } from 'durable-rest';
import { createDataSourceOptions, type Schema } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import { schema } from '../fixtures/schema.js';
import { ENGINE, TestStore } from 'durable-rest/testing';

// What `migration:generate` writes for a change of an entity is applied to a store with rows, and
// undone again: nothing else may change.

type Class = Schema['entities'][number];

/** Photos of plants, which are removed with their plants. */
@Entity('photos')
class Photo {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;

  @Index('photos_newest', { synchronize: false })
  @Column(int64())
  @ForeignKey(() => Plant, { onDelete: 'CASCADE' })
  plantId!: string;

  @Index('photos_title', { synchronize: false })
  @Column({ type: 'varchar', length: 20 })
  title!: string;
}

/** Makes the class of another version of an entity. */
function change(
  table: string,
  columns: Record<string, PropertyDecorator[]>,
  ...decorators: ClassDecorator[]
): Class {
  class Changed {
    id!: string;
  }
  for (const [name, all] of Object.entries(columns)) {
    for (const decorate of all) decorate(Changed.prototype, name);
  }
  for (const decorate of [Entity(table), ...decorators]) decorate(Changed);
  return Changed;
}

const ID = [PrimaryColumn(int64())];
const INT_ID = [PrimaryColumn({ type: 'integer' })];
const NAME = [Column(text()), Index('plants_name', { synchronize: false })];
const TAG = [Column(nullable(text())), Index('plants_tag', { synchronize: false })];
const PLANT = { id: ID, name: NAME, tag: TAG };

function changePlant(
  columns: Record<string, PropertyDecorator[]>,
  ...decorators: ClassDecorator[]
): Class {
  return change('plants', columns, RecordChanges('plant'), ...decorators);
}

const COUNTER = [PrimaryGeneratedColumn({ type: 'bigint' })];
const ALBUM = Index('photos_title', { synchronize: false });
const TITLE = [Column({ type: 'varchar', length: 20 }), ALBUM];
const NEWEST = Index('photos_newest', { synchronize: false });
const references = (to: Class): PropertyDecorator[] => [
  Column(int64()),
  NEWEST,
  ForeignKey(() => to, { onDelete: 'CASCADE' }),
];

/** A change of the entities, for which a migration is generated. */
interface Change {
  /** Makes the entities as they are afterwards. */
  readonly entities: () => Class[];
  /** Whether the column `tag` of plants is gone, with its index. */
  readonly removesTag?: boolean;
  /** Whether photos refer to their plants no longer. */
  readonly removesKey?: boolean;
}

/** The changes by their names. */
const CHANGES: Record<string, Change> = {
  'a column that may be NULL': {
    entities: () => withPlant({ ...PLANT, origin: [Column(nullable(text()))] }),
  },
  'a column with a default': {
    entities: () => withPlant({ ...PLANT, size: [Column({ default: 7, type: 'integer' })] }),
  },
  'a default with a quote': {
    entities: () =>
      withPlant({ ...PLANT, origin: [Column({ default: "the gardener's", type: 'text' })] }),
  },
  'a removed column': { entities: () => withPlant({ id: ID, name: NAME }), removesTag: true },
  'another type of a column': {
    entities: () => [
      Plant,
      change('photos', { id: COUNTER, plantId: references(Plant), title: [Column(text()), ALBUM] }),
    ],
  },
  'a column that must not be NULL': {
    entities: () => withPlant({ ...PLANT, tag: [Column(text()), TAG[1] as PropertyDecorator] }),
  },
  'a unique constraint': { entities: () => withPlant(PLANT, Unique('one_name', ['name'])) },
  'a check': { entities: () => withPlant(PLANT, Check('a_name', `name <> 'none, or (nothing)'`)) },
  'an index': {
    entities: () =>
      withPlant({ ...PLANT, tag: [...TAG, Index('plants_by_tag', { where: 'tag IS NOT NULL' })] }),
  },
  'a new entity': {
    entities: () => [
      Plant,
      Photo,
      change('beds', { id: COUNTER, name: [Column(text()), Index()] }),
    ],
  },
  'a column of a table with a counter and a foreign key': {
    entities: () => [
      Plant,
      change('photos', {
        id: COUNTER,
        plantId: references(Plant),
        title: TITLE,
        size: [Column(nullable(int64()))],
      }),
    ],
  },
  'a longer column': {
    entities: () => [
      Plant,
      change('photos', {
        id: COUNTER,
        plantId: references(Plant),
        title: [Column({ type: 'varchar', length: 40 }), ALBUM],
      }),
    ],
  },
  'a removed foreign key': {
    entities: () => [
      Plant,
      change('photos', { id: COUNTER, plantId: [Column(int64()), NEWEST], title: TITLE }),
    ],
    removesKey: true,
  },
};

function withPlant(
  columns: Record<string, PropertyDecorator[]>,
  ...decorators: ClassDecorator[]
): Class[] {
  const plant = changePlant(columns, ...decorators);
  return [plant, change('photos', { id: COUNTER, plantId: references(plant), title: TITLE })];
}

let store: TestStore;
let before: Snapshot;
/** What generating has printed for its reader. */
let printed: string[];

beforeEach(async () => {
  printed = [];
  // The program has the console of the worker, unless its coverage is counted.
  for (const one of [console, workerConsole]) {
    jest.spyOn(one, 'warn').mockImplementation((line: string) => void printed.push(line));
    // TypeORM logs that a migration fails.
    jest.spyOn(one, 'log').mockReturnValue();
  }
  store = await TestStore.create();
  const dataSource = await open([Plant, Photo], [CreatePhotos1800000000000]);
  await dataSource.query(
    `INSERT INTO plants (id, name, tag) VALUES (9007199254740993, 'Ficus', 'x'), (2, 'Fern', 'y')`,
  );
  for (const id of [1, 2, 3])
    await dataSource.query(`INSERT INTO photos ("plantId", title) VALUES (2, 'photo ${id}')`);
  // The key 3 is never given again.
  await dataSource.query('DELETE FROM photos WHERE id = 3');
  await dataSource.query('CREATE VIEW plant_names AS SELECT name FROM plants');
  before = await describeStore(dataSource);
  await dataSource.destroy();
});

afterEach(() => store.remove());

class CreatePhotos1800000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const { connection } = queryRunner;
    const photos = Table.create(connection.getMetadata(Photo), connection.driver);
    const [key] = connection.getMetadata(Photo).foreignKeys;
    if (key !== undefined) photos.addForeignKey(TableForeignKey.create(key, connection.driver));
    await queryRunner.createTable(photos);
    await queryRunner.query(
      'CREATE INDEX photos_newest ON photos ("plantId" DESC, id) WHERE id > 0',
    );
    await queryRunner.query('CREATE INDEX photos_title ON photos (title, id)');
    if (ENGINE === 'postgres') return;
    await queryRunner.query(
      `CREATE TRIGGER no_empty_title BEFORE INSERT ON photos WHEN NEW.title = '' BEGIN SELECT RAISE(ABORT, 'empty'); END`,
    );
  }

  async down(): Promise<void> {
    // Nothing is undone.
  }
}

async function open(
  entities: Class[],
  migrations: Schema['migrations'],
  prepare?: (dataSource: StoreDataSource) => Promise<unknown>,
): Promise<StoreDataSource> {
  const [, ...others] = schema.entities;
  return await openDatabase(
    createDataSourceOptions(
      { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 4, CHANGE_FEED: 'on' },
      { entities: [...entities, ...others], migrations: [...schema.migrations, ...migrations] },
    ),
    prepare,
  );
}

type Rows = Record<string, unknown>[];

interface Snapshot {
  readonly plants: Rows;
  readonly photos: Rows;
  readonly names: Rows;
  /** The indexes and triggers. */
  readonly parts: Rows;
  readonly changes: Rows;
}

async function describeStore(dataSource: StoreDataSource): Promise<Snapshot> {
  const [plants, photos, names, changes] = await Promise.all(
    ['plants', 'photos', 'plant_names', 'changes'].map((table) =>
      dataSource.query<Rows>(`SELECT * FROM ${table}`),
    ),
  );
  const parts = await dataSource.query<Rows>(
    ENGINE === 'sqlite'
      ? `SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL AND name NOT LIKE 'record%' ORDER BY 1, 2`
      : `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename IN ('plants', 'photos') ORDER BY 1`,
  );
  return { plants, photos, names, parts, changes } as Snapshot;
}

async function generate(entities: Class[]): Promise<SqlInMemory> {
  const dataSource = await open(entities, [CreatePhotos1800000000000]);
  const sql = await dataSource.driver.createSchemaBuilder().log();
  await dataSource.destroy();
  return sql;
}

/** Makes the class that `migration:generate` writes. */
function toMigration({ upQueries, downQueries }: SqlInMemory): Schema['migrations'][number] {
  return class Generated1900000000000 implements MigrationInterface {
    readonly name = 'Generated1900000000000';

    async up(queryRunner: QueryRunner): Promise<void> {
      for (const { query, parameters } of upQueries) await queryRunner.query(query, parameters);
    }

    async down(queryRunner: QueryRunner): Promise<void> {
      for (const { query, parameters } of downQueries.toReversed()) {
        await queryRunner.query(query, parameters);
      }
    }
  };
}

describe.each(Object.entries(CHANGES))('a migration that was generated for %s', (_, change) => {
  const { removesTag = false, removesKey = false } = change;

  it('keeps everything else, and can be undone', async () => {
    const entities = change.entities();
    const sql = await generate(entities);
    expect(sql.upQueries.length).toBeGreaterThan(0);
    const changed = await open(entities, [CreatePhotos1800000000000, toMigration(sql)]);
    expect(await listChanges(changed)).toEqual([]);
    const after = await describeStore(changed);
    expect(after.photos).toMatchObject(before.photos);
    expect(after.plants).toMatchObject(
      before.plants.map(({ tag, ...row }) => (removesTag ? row : { ...row, tag })),
    );
    expect(after.names).toEqual(before.names);
    expect(after.parts).toEqual(
      expect.arrayContaining(
        before.parts.filter(
          ({ name, indexname = name }) => !removesTag || indexname !== 'plants_tag',
        ),
      ),
    );
    expect(after.changes).toEqual(before.changes);
    await write(changed);
    await changed.undoLastMigration();
    await changed.destroy();

    const undone = await open([Plant, Photo], [CreatePhotos1800000000000]);
    expect(await listChanges(undone)).toEqual([]);
    const { plants, photos, names, parts } = await describeStore(undone);
    expect({ photos, names }).toEqual({ photos: before.photos, names: before.names });
    if (!removesTag)
      expect({ plants, parts }).toEqual({ plants: before.plants, parts: before.parts });
    await undone.query('DELETE FROM plants WHERE id = 2');
    expect(await undone.query('SELECT 1 FROM photos')).toEqual([]);
    await undone.destroy();
  });

  /** Checks that the feed still records, keys count on, and photos are removed with their plant. */
  async function write(dataSource: StoreDataSource): Promise<void> {
    const columns = removesTag ? ['id', 'name'] : ['id', 'name', 'tag'];
    await dataSource.query(
      `INSERT INTO plants (${columns.join(', ')}) VALUES (4${`, 'Aloe'`.repeat(columns.length - 1)})`,
    );
    await dataSource.query(`INSERT INTO photos ("plantId", title) VALUES (4, 'last')`);
    const [last] = await dataSource.query<Rows>('SELECT CAST(max(id) AS TEXT) AS id FROM photos');
    expect(last).toEqual({ id: '4' });
    await dataSource.query('DELETE FROM plants WHERE id = 4');
    const left = removesKey ? 3 : 2;
    expect(await dataSource.query<Rows>('SELECT 1 FROM photos')).toHaveLength(left);
    await dataSource.query('DELETE FROM photos WHERE id = 4');
    const recorded = await dataSource.query<Rows>('SELECT type FROM changes ORDER BY number');
    expect(recorded.slice(before.changes.length)).toEqual([
      { type: 'plant.created' },
      { type: 'plant.removed' },
    ]);
  }
});

async function listChanges(dataSource: StoreDataSource): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  return upQueries.map(({ query }) => query);
}

/** Opens the store with these entities, without changing it, and lists what would be changed. */
async function tryGenerating(entities: Class[]): Promise<unknown> {
  const dataSource = await open(entities, [CreatePhotos1800000000000]);
  return await listChanges(dataSource)
    .catch((error: unknown) => (error as Error).message)
    .finally(() => dataSource.destroy());
}

async function execute(...statements: readonly string[]): Promise<void> {
  const dataSource = await open([Plant, Photo], [CreatePhotos1800000000000]);
  const queryRunner = dataSource.createQueryRunner();
  for (const statement of statements) await queryRunner.query(statement);
  await queryRunner.release();
  await dataSource.destroy();
}

/** The table in which TypeORM keeps the expressions of computed columns. */
const METADATA =
  'CREATE TABLE typeorm_metadata (type varchar, database varchar, schema varchar, "table" varchar, name varchar, value text)';

if (ENGINE === 'sqlite') {
  const ITEMS = { id: ID, name: [Column(text())] };
  const refusal = (reason: string): RegExp =>
    new RegExp(
      `^TypeORM would change items by copying it, and cannot keep everything: ${reason}\\. Write the migration by hand, with changeSchema\\(queryRunner\\)`,
    );

  it.each<[what: string, statements: string[], reason: string]>([
    [
      'a column that an index on an expression names',
      [
        'CREATE TABLE items (id integer PRIMARY KEY NOT NULL, title text NOT NULL)',
        'CREATE INDEX by_title ON items (lower(title))',
      ],
      'its index by_title names the column title',
    ],
    [
      'a column that a trigger names',
      [
        'CREATE TABLE items (id integer PRIMARY KEY NOT NULL, title text NOT NULL)',
        `CREATE TRIGGER no_title BEFORE INSERT ON items WHEN NEW.title = '' BEGIN SELECT RAISE(ABORT, ''); END`,
      ],
      'its trigger no_title names the column title',
    ],
    [
      'a strict table',
      ['CREATE TABLE items (id integer PRIMARY KEY NOT NULL) STRICT'],
      'TypeORM leaves these words of its definition out: STRICT',
    ],
    [
      'a check without a name',
      [`CREATE TABLE items (id integer PRIMARY KEY NOT NULL CHECK (id > 0))`],
      'TypeORM leaves these words of its definition out: CHECK ID 0',
    ],
    [
      'a check with several parentheses',
      [
        `CREATE TABLE items (id integer PRIMARY KEY NOT NULL, CONSTRAINT "a" CHECK (abs(id), 1), CONSTRAINT "b" CHECK (id IN (1, 2)))`.replace(
          'abs(id), 1',
          'max(abs(id), 1) > 0',
        ),
      ],
      'TypeORM leaves these words of its definition out: 0 1',
    ],
    [
      'a conflict clause',
      ['CREATE TABLE items (id integer PRIMARY KEY ON CONFLICT REPLACE NOT NULL)'],
      'TypeORM leaves these words of its definition out: ON CONFLICT REPLACE',
    ],
    [
      'the values of a column that was computed',
      [
        METADATA,
        'CREATE TABLE items (id integer PRIMARY KEY NOT NULL, name text AS (id) STORED)',
        `INSERT INTO typeorm_metadata (type, "table", name, value) VALUES ('GENERATED_COLUMN', 'items', 'name', 'id')`,
      ],
      'the values of name are computed on only one side of the change',
    ],
  ])('a change is refused that would lose %s', async (_, statements, reason) => {
    await execute(...statements);
    const index = Index('by_title', { synchronize: false });
    const items = change('items', { ...ITEMS, name: [Column(text()), index] });
    expect(await tryGenerating([Plant, Photo, items])).toMatch(refusal(reason));
  });

  it('a column need not be unique any more', async () => {
    await execute(
      'CREATE TABLE "items" ("id" integer PRIMARY KEY NOT NULL, "name" text NOT NULL, CONSTRAINT "one" UNIQUE ("name"))',
      `INSERT INTO items VALUES (1, 'same')`,
    );
    const entities = [Plant, Photo, change('items', ITEMS)];
    const sql = await generate(entities);
    const dataSource = await open(entities, [CreatePhotos1800000000000, toMigration(sql)]);
    expect(await listChanges(dataSource)).toEqual([]);
    await dataSource.query(`INSERT INTO items VALUES (2, 'same')`);
    await dataSource.query('DELETE FROM items WHERE id = 2');
    await dataSource.undoLastMigration();
    const again = dataSource.query(`INSERT INTO items VALUES (2, 'same')`);
    await expect(again).rejects.toMatchObject({ kind: 'unique' });
    await dataSource.destroy();
  });

  it('a table may be copied for each of several changes', async () => {
    await execute(
      `CREATE TABLE "items" ("id" integer PRIMARY KEY NOT NULL, CONSTRAINT "some" CHECK (id > 0))`,
      'INSERT INTO items VALUES (1)',
    );
    const items = change('items', { id: ID, size: [Column({ type: 'integer', default: 7 })] });
    const entities = [Plant, Photo, items];
    const sql = await generate(entities);
    expect(sql.upQueries.filter(({ query }) => query.startsWith('CREATE TABLE'))).toHaveLength(2);
    const dataSource = await open(entities, [CreatePhotos1800000000000, toMigration(sql)]);
    expect(await listChanges(dataSource)).toEqual([]);
    expect(await dataSource.query('SELECT * FROM items')).toEqual([{ id: 1, size: 7 }]);
    await dataSource.destroy();
  });

  it('a copied table keeps its collations, deferred keys and references to itself', async () => {
    await execute(
      `CREATE TABLE "items" ("id" integer PRIMARY KEY NOT NULL, "title" varchar(9) COLLATE NOCASE NOT NULL, "parent" bigint, CONSTRAINT "FK_item" FOREIGN KEY ("parent") REFERENCES "items" ("id") DEFERRABLE INITIALLY DEFERRED)`,
      `INSERT INTO items VALUES (1, 'root', NULL), (2, 'leaf', 1)`,
    );
    const items: Class = change('items', {
      id: ID,
      title: [Column({ type: 'varchar', length: 9, collation: 'NOCASE' })],
      parent: [
        Column(nullable(int64())),
        ForeignKey(() => items, { name: 'FK_item', deferrable: 'INITIALLY DEFERRED' }),
      ],
      size: [Column(nullable(int64()))],
    });
    const entities = [Plant, Photo, items];
    const sql = await generate(entities);
    const dataSource = await open(entities, [CreatePhotos1800000000000, toMigration(sql)]);
    expect(await dataSource.query(`SELECT id, parent FROM items WHERE title = 'LEAF'`)).toEqual([
      { id: 2, parent: 1 },
    ]);
    await dataSource.transaction(async (manager) => {
      await manager.query(`INSERT INTO items (id, title, parent) VALUES (4, 'early', 3)`);
      await manager.query(`INSERT INTO items (id, title) VALUES (3, 'late')`);
    });
    await dataSource.destroy();
  });

  it('a foreign key that rows break is refused, and nothing is changed', async () => {
    await execute(
      'CREATE TABLE items (id integer PRIMARY KEY NOT NULL, "plantId" bigint NOT NULL)',
      'INSERT INTO items VALUES (1, 404)',
    );
    const items = change('items', { id: ID, plantId: [Column(int64()), ForeignKey(() => Plant)] });
    const entities = [Plant, Photo, items];
    const migrations = [CreatePhotos1800000000000, toMigration(await generate(entities))];
    await expect(open(entities, migrations)).rejects.toThrow(
      '1 rows of items refer to missing rows of plants: remove or correct them',
    );
    await execute(`INSERT INTO items VALUES (2, 405)`);
  });

  it('rows that break an older foreign key to the same table do not prevent a new key', async () => {
    await execute(
      'PRAGMA foreign_keys = OFF',
      'CREATE TABLE items (id integer PRIMARY KEY NOT NULL, "ownerId" bigint NOT NULL, "plantId" bigint, FOREIGN KEY ("ownerId") REFERENCES plants (id))',
      'INSERT INTO items VALUES (1, 404, NULL)',
    );
    const key = [Column(nullable(int64())), ForeignKey(() => Plant)];
    const owner = [Column(int64()), ForeignKey(() => Plant)];
    const entities = [Plant, Photo, change('items', { id: ID, ownerId: owner, plantId: key })];
    const migrations = [CreatePhotos1800000000000, toMigration(await generate(entities))];
    const dataSource = await open(entities, migrations);
    expect(await dataSource.query('SELECT * FROM items')).toEqual([
      { id: 1, ownerId: 404, plantId: null },
    ]);
    await dataSource.destroy();
  });
}

if (ENGINE === 'postgres') {
  const ITEMS = 'CREATE TABLE items (id integer PRIMARY KEY, state %)';

  it.each<[from: string, value: string, to: object]>([
    ['smallint NOT NULL DEFAULT 7', '32767', { type: 'integer', default: 7 }],
    ['integer NOT NULL DEFAULT 7', '-2147483648', { type: 'bigint', default: 1 }],
    ["varchar(4) NOT NULL DEFAULT 'a'", "'abcd'", { type: 'varchar', length: 5, default: 'a' }],
    ['varchar(4) NOT NULL', "'abcd'", { type: 'varchar' }],
    ['varchar(4) NOT NULL', "'abcd'", { ...text() }],
    ['text COLLATE "C" NOT NULL', "'abcd'", { type: 'varchar' }],
  ])('a column is widened: %s', async (from, value, to) => {
    await execute(ITEMS.replace('%', from), `INSERT INTO items VALUES (1, ${value})`);
    const stored = [{ state: value.replaceAll("'", '') }];
    const entities = [Plant, Photo, change('items', { id: INT_ID, state: [Column(to)] })];
    const sql = await generate(entities);
    const dataSource = await open(entities, [CreatePhotos1800000000000, toMigration(sql)]);
    expect(await listChanges(dataSource)).toEqual([]);
    expect(await dataSource.query('SELECT state::text FROM items')).toEqual(stored);
    await dataSource.undoLastMigration();
    expect(await dataSource.query('SELECT state::text FROM items')).toEqual(stored);
    await dataSource.destroy();
  });

  it.each<[from: string, to: object, type: string]>([
    ['boolean', { type: 'integer' }, 'integer USING "state"::integer'],
    ['bigint', { type: 'integer' }, 'integer USING "state"::integer'],
    ['integer', { type: 'text' }, 'text USING "state"::text'],
    ['integer', { type: 'uuid' }, 'uuid USING "state"::uuid'],
    ['integer', { type: 'integer', array: true }, 'integer array USING "state"::integer array'],
    [
      'varchar(9)',
      { type: 'varchar', length: 3 },
      'character varying(3) USING "state"::character varying(3)',
    ],
    ['varchar(9)', { type: 'char', length: 9 }, 'character(9) USING "state"::character(9)'],
  ])('another type of a column is refused: from %s to %j', async (from, to, type) => {
    await execute(ITEMS.replace('%', from));
    const items = change('items', { id: INT_ID, state: [Column({ ...to, nullable: true })] });
    expect(await tryGenerating([Plant, Photo, items])).toBe(
      `TypeORM would drop items.state with its values or indexes to change its type: write the migration by hand, with ALTER TABLE "items" ALTER COLUMN "state" TYPE ${type}`,
    );
  });

  it('a counted key gets a wider type, and goes on with it', async () => {
    await execute(
      'CREATE TABLE items (id SERIAL, CONSTRAINT "PK_ba5885359424c15ca6b9e79bcf6" PRIMARY KEY (id))',
      'INSERT INTO items VALUES (7)',
    );
    await execute("SELECT setval('items_id_seq', 2147483647)");
    const entities = [Plant, Photo, change('items', { id: COUNTER })];
    const sql = await generate(entities);
    const dataSource = await open(entities, [CreatePhotos1800000000000, toMigration(sql)]);
    expect(await listChanges(dataSource)).toEqual([]);
    expect(await dataSource.query('INSERT INTO items DEFAULT VALUES RETURNING id')).toEqual([
      { id: '2147483648' },
    ]);
    await dataSource.destroy();
  });

  it('what is dropped is made again as it was', async () => {
    await execute(
      `CREATE TABLE items (id integer PRIMARY KEY, state varchar(9) COLLATE "C" NOT NULL DEFAULT 'std::map', CONSTRAINT "one" UNIQUE (state, id))`,
      'CREATE INDEX by_state ON items (state, id)',
      'CREATE INDEX with_id ON items (state) INCLUDE (id)',
      `INSERT INTO items VALUES (1, DEFAULT), (2, 'it''s')`,
    );
    const state = Column({ type: 'varchar', length: 9, default: 'a::b' });
    const entities = [Plant, Photo, change('items', { id: INT_ID, state: [state] })];
    const sql = await generate(entities);
    const dataSource = await open(entities, [CreatePhotos1800000000000, toMigration(sql)]);
    expect(await listChanges(dataSource)).toEqual([]);
    await dataSource.undoLastMigration();
    const indexes = await dataSource.query<Rows>(
      `SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE tablename = 'items' ORDER BY 1`,
    );
    expect(indexes).toEqual([
      { name: 'by_state', sql: expect.stringMatching(/\(state, id\)$/) as unknown },
      expect.objectContaining({ name: 'items_pkey' }),
      { name: 'one', sql: expect.stringMatching(/\(state, id\)$/) as unknown },
      { name: 'with_id', sql: expect.stringMatching(/\(state\) INCLUDE \(id\)$/) as unknown },
    ]);
    expect(
      await dataSource.query(
        `SELECT column_default, collation_name, character_maximum_length FROM information_schema.columns WHERE table_name = 'items' AND column_name = 'state'`,
      ),
    ).toEqual([
      {
        column_default: "'std::map'::character varying",
        collation_name: 'C',
        character_maximum_length: 9,
      },
    ]);
    await dataSource.destroy();
  });

  it.each([
    ['computed', 'text', { generatedType: 'STORED', asExpression: 'id::text', type: 'text' }],
    ['given', 'text GENERATED ALWAYS AS (id::text) STORED', { type: 'text' }],
  ] as const)('a column is refused that is %s from now on', async (_, from, to) => {
    await execute(METADATA, ITEMS.replace('%', from));
    const items = change('items', { id: INT_ID, state: [Column({ ...to, nullable: true })] });
    expect(await tryGenerating([Plant, Photo, items])).toBe(
      'TypeORM would drop items.state with its values or indexes to change its type: write the migration by hand, with ALTER TABLE',
    );
  });

  it('a key that is counted up from now on, or again, goes on behind the rows', async () => {
    await execute(
      'CREATE TABLE items (id integer NOT NULL, CONSTRAINT "PK_ba5885359424c15ca6b9e79bcf6" PRIMARY KEY (id))',
      'INSERT INTO items VALUES (7)',
    );
    const counted = [Plant, Photo, change('items', { id: [PrimaryGeneratedColumn()] })];
    const given = [Plant, Photo, change('items', { id: INT_ID })];
    const count = toMigration(await generate(counted));
    const dataSource = await open(counted, [CreatePhotos1800000000000, count]);
    const add = async (): Promise<unknown> =>
      await dataSource.query('INSERT INTO items DEFAULT VALUES RETURNING id');
    expect(await add()).toEqual([{ id: 8 }]);
    await dataSource.destroy();
    const other = await open(given, [CreatePhotos1800000000000, count]);
    const { upQueries, downQueries } = await other.driver.createSchemaBuilder().log();
    for (const { query } of [...upQueries, ...downQueries.toReversed()]) await other.query(query);
    expect(await other.query('INSERT INTO items DEFAULT VALUES RETURNING id')).toEqual([{ id: 9 }]);
    await other.destroy();
  });
}

it('a unique constraint has other columns under the same name', async () => {
  await execute(
    'CREATE TABLE "items" ("id" integer PRIMARY KEY NOT NULL, "a" integer NOT NULL, "b" integer NOT NULL, "c" integer NOT NULL, CONSTRAINT "one" UNIQUE ("a", "b"))',
    'INSERT INTO items VALUES (1, 1, 1, 1), (2, 1, 2, 2)',
  );
  const column = Column({ type: 'integer' });
  const columns = {
    id: [PrimaryColumn({ type: 'integer' })],
    a: [column],
    b: [column],
    c: [column],
  };
  const items = change('items', columns, Unique('one', ['a', 'c']));
  const entities = [Plant, Photo, items];
  const migration = toMigration(await generate(entities));
  const dataSource = await open(entities, [CreatePhotos1800000000000, migration]);
  expect(await listChanges(dataSource)).toEqual([]);
  await dataSource.query('INSERT INTO items VALUES (3, 1, 1, 3)');
  const taken = dataSource.query('INSERT INTO items VALUES (4, 1, 3, 1)');
  await expect(taken).rejects.toMatchObject({ kind: 'unique' });
  await dataSource.destroy();
});

const OTHER = ENGINE === 'sqlite' ? 'postgres' : 'sqlite';
const COUNT_MARKS = 'SELECT count(*) AS count FROM marks';
const CREATE_MARKS = 'CREATE TABLE marks (id integer PRIMARY KEY NOT NULL)';
const mark = (engine: string): string => `SELECT 'These statements are for ${engine} only'`;

/** Makes a migration as a team edits it. */
function edit(
  up: (queryRunner: QueryRunner) => Promise<unknown>,
  down: (queryRunner: QueryRunner) => Promise<unknown> = () => Promise.resolve(),
): Schema['migrations'][number] {
  return class Edited1900000000001 implements MigrationInterface {
    async up(queryRunner: QueryRunner): Promise<void> {
      await up(queryRunner);
    }

    async down(queryRunner: QueryRunner): Promise<void> {
      await down(queryRunner);
    }
  };
}

async function start(migration: Schema['migrations'][number]): Promise<StoreDataSource> {
  return await open([Plant, Photo], [CreatePhotos1800000000000, migration]);
}

it('generated statements begin with their engine, in both directions, and the terminal names it', async () => {
  const { upQueries, downQueries } = await generate([
    Plant,
    Photo,
    change('beds', { id: COUNTER }),
  ]);
  expect(upQueries[0]?.query).toBe(mark(ENGINE));
  expect(downQueries.at(-1)?.query).toBe(mark(ENGINE));
  expect(printed).toEqual([
    `These statements are for ${ENGINE} only. A migration for each engine is written by hand, with CreateTable or changeSchema(queryRunner)`,
  ]);
});

it('nothing is written or printed where nothing is to be changed', async () => {
  expect(await generate([Plant, Photo])).toMatchObject({ upQueries: [], downQueries: [] });
  expect(printed).toEqual([]);
});

it.each<[what: string, statements: string[]]>([
  ['as it was generated', [mark(OTHER), CREATE_MARKS]],
  ['with statements of an author before it', [CREATE_MARKS, mark(OTHER)]],
  ['that is printed prettily', [`\n            ${mark(OTHER)}\n        `, CREATE_MARKS]],
])('a migration of another engine is refused, %s, and nothing of it is done', async (_, texts) => {
  const migration = edit(async (queryRunner) => {
    for (const text of texts) await queryRunner.query(text);
  });
  for (let times = 0; times < 2; times++) {
    await expect(start(migration)).rejects.toThrow(
      `Edited1900000000001 was generated on another engine, ${OTHER}: write it by hand, with CreateTable or changeSchema(queryRunner), which suit each engine`,
    );
  }
  await execute(CREATE_MARKS);
});

it('a migration that another engine would undo is refused', async () => {
  const dataSource = await start(
    edit(
      (queryRunner) => queryRunner.query(CREATE_MARKS),
      async (queryRunner) => {
        await queryRunner.query(mark(OTHER));
        await queryRunner.query('DROP TABLE marks');
      },
    ),
  );
  await expect(dataSource.undoLastMigration()).rejects.toThrow(
    'Edited1900000000001 was generated on another engine',
  );
  expect(await dataSource.query(COUNT_MARKS)).toHaveLength(1);
  await dataSource.destroy();
});

it.each<[what: string, up: (queryRunner: QueryRunner) => Promise<unknown>]>([
  [
    'tells engines apart itself',
    async (queryRunner) => {
      const { type } = queryRunner.connection.options;
      for (const engine of ['sqlite', 'postgres'] as const) {
        if (type !== engine) continue;
        await queryRunner.query(mark(engine));
        await queryRunner.query(CREATE_MARKS);
      }
    },
  ],
  [
    'has words of another engine in texts, comments and names',
    async (queryRunner) => {
      // "id" BIGSERIAL NOT NULL, CONSTRAINT "PK_1" PRIMARY KEY ("id"), ADD CONSTRAINT
      await queryRunner.query(
        `CREATE TABLE marks (id integer PRIMARY KEY NOT NULL, datetime text DEFAULT 'SERIAL' /* datetime */)`,
      );
      await queryRunner.query('CREATE TABLE "temporary_marks" (id integer)');
    },
  ],
  [
    'uses CreateTable',
    (queryRunner) =>
      changeSchema(queryRunner).createTable({
        name: 'marks',
        columns: { id: int64(), datetime: text() },
        key: ['id'],
      }),
  ],
  ['was generated on this engine before', (queryRunner) => queryRunner.query(CREATE_MARKS)],
])('a migration runs on both engines that %s', async (_, up) => {
  const dataSource = await start(edit(up));
  expect(await dataSource.query(COUNT_MARKS)).toHaveLength(1);
  await dataSource.destroy();
});

it('indexes are named that are left to a migration, and that the store lacks', async () => {
  const lines = ['photos_other', 'beds_name'].map(
    (name) =>
      `${name.split('_')[0]} lacks the index ${name}, which is declared with synchronize: false, so that nothing is generated for it: write it by hand, with createIndex() of changeSchema(queryRunner)`,
  );
  const title = [...TITLE, Index('photos_other', { synchronize: false })];
  const photos = change('photos', { id: COUNTER, plantId: references(Plant), title });
  const name = [Column(text()), Index('beds_name', { synchronize: false })];
  const beds = change('beds', { id: COUNTER, name });
  await generate([Plant, photos, beds]);
  expect(printed).toEqual([...lines, expect.stringMatching(/^These statements are for/)]);
  printed = [];
  // An index on an expression has no columns that TypeORM reads.
  await execute('CREATE INDEX photos_other ON photos (lower(title))');
  await generate([Plant, photos]);
  expect(printed).toEqual([]);
});

it('nothing is generated for a store that lacks migrations', async () => {
  const migrations = [CreatePhotos1800000000000, edit(() => Promise.resolve())];
  const dataSource = await open([Plant, Photo], migrations, (opened) => opened.initialize());
  await expect(dataSource.driver.createSchemaBuilder().log()).rejects.toThrow(
    'The store lacks migrations, such as Edited1900000000001: first execute them with migration:run',
  );
  await dataSource.destroy();
});

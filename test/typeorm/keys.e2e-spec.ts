import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  ChildEntity,
  Column,
  Entity,
  Generated,
  JoinTable,
  ManyToMany,
  type MigrationInterface,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type QueryRunner,
  TableInheritance,
  Tree,
  TreeChildren,
  TreeParent,
  ViewColumn,
  ViewEntity,
} from 'typeorm';
import { createDataSourceOptions, type Schema } from 'durable-rest/program';
import { ENGINE, TestStore } from 'durable-rest/testing';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';

// After migrations have run, the keys of the tables are compared with the entities.

type Class = Schema['entities'][number];
type Migration = Schema['migrations'][number];

let store: TestStore;

beforeEach(async () => {
  store = await TestStore.create();
});

afterEach(() => store.remove());

/** Starts with these entities and migrations. */
async function open(entities: Class[], migrations: Migration[]): Promise<StoreDataSource> {
  const env = { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 2 };
  const options = createDataSourceOptions(env, { entities, migrations });
  return await openDatabase({ ...options, logger: 'debug' });
}

/** Makes a migration of these statements. */
function execute(name: string, ...statements: readonly string[]): Migration {
  return class implements MigrationInterface {
    readonly name = name;

    async up(queryRunner: QueryRunner): Promise<void> {
      for (const statement of statements) await queryRunner.query(statement);
    }

    async down(): Promise<void> {
      // Nothing is undone.
    }
  };
}

const [FIRST, SECOND, THIRD] = [1, 2, 3].map((number) => `Step190000000000${number}`) as [
  string,
  string,
  string,
];

/** Makes the entity of the table `beds`, with the decorators of its columns. */
function bed(columns: Record<string, PropertyDecorator[]>): Class {
  class Bed {
    id!: unknown;
  }
  for (const [name, decorators] of Object.entries(columns)) {
    for (const decorate of decorators) decorate(Bed.prototype, name);
  }
  Entity('beds')(Bed);
  return Bed;
}

const KEY = [PrimaryColumn({ type: 'bigint' })];
const COUNTED = bed({ id: [PrimaryGeneratedColumn()] });
const COUNTED_INT64 = bed({ id: [PrimaryGeneratedColumn({ type: 'bigint' })] });
const IDENTITY = bed({ id: [PrimaryGeneratedColumn('identity')] });
const UUID = bed({ id: [PrimaryGeneratedColumn('uuid')] });
const GIVEN = bed({ id: KEY });
const PAIR = bed({ id: KEY, place: KEY });
/** Counts up a column that is not the key. */
const NUMBERED = bed({ id: KEY, place: [Column({ type: 'integer' }), Generated('increment')] });

/** The columns and constraints of `beds`. */
type Table = string;
type Case = [entity: Class, table: Table, message: string];

const GENERATION =
  ENGINE === 'sqlite'
    ? 'be "integer PRIMARY KEY"'
    : 'be an identity, or have a function as its default, such as nextval() or gen_random_uuid()';
const notGenerated = (type: string, column = 'id'): string =>
  `The table beds does not generate ${column}, as the entity Bed declares: it is ${type}, and must ${GENERATION}`;
const hasKey = (key: string, declared = 'id'): string =>
  `The table beds has ${key}, and must have (${declared}), which the entity Bed declares`;

const REFUSED: Case[] = [
  [COUNTED_INT64, 'id bigint PRIMARY KEY NOT NULL', notGenerated('bigint')],
  [COUNTED, '"id" varchar(9) PRIMARY KEY NOT NULL', notGenerated(nameType('varchar(9)'))],
  [IDENTITY, 'id bigint NOT NULL, PRIMARY KEY (id)', notGenerated('bigint')],
  [COUNTED, 'id bigint NOT NULL DEFAULT 0 PRIMARY KEY', notGenerated('bigint')],
  [GIVEN, 'id bigint, place bigint PRIMARY KEY', hasKey('the primary key (place)')],
  [GIVEN, 'id bigint NOT NULL UNIQUE', hasKey('no primary key')],
  [PAIR, 'id bigint PRIMARY KEY, place bigint', hasKey('the primary key (id)', 'id, place')],
  [
    GIVEN,
    'place bigint, id bigint, PRIMARY KEY (place, id)',
    hasKey('the primary key (id, place)'),
  ],
];
const REFUSED_ON: Record<typeof ENGINE, Case[]> = {
  sqlite: [
    [
      COUNTED,
      '"id" SERIAL NOT NULL, CONSTRAINT "PK_beds" PRIMARY KEY ("id")',
      notGenerated('SERIAL'),
    ],
    [COUNTED_INT64, 'id BIGSERIAL PRIMARY KEY', notGenerated('BIGSERIAL')],
    [COUNTED, 'id integer PRIMARY KEY DESC', notGenerated('INTEGER')],
  ],
  postgres: [
    [COUNTED, 'id integer PRIMARY KEY', notGenerated('integer')],
    [UUID, 'id uuid PRIMARY KEY', notGenerated('uuid')],
    [NUMBERED, 'id bigint PRIMARY KEY, place integer', notGenerated('integer', 'place')],
  ],
};

function nameType(type: string): string {
  return ENGINE === 'postgres' ? type.replace('varchar', 'character varying') : type;
}

it.each([...REFUSED, ...REFUSED_ON[ENGINE]])(
  'a table is refused whose key is not as the entity declares: %p with %s',
  async (entity, table, message) => {
    const migrations = [execute(FIRST, `CREATE TABLE beds (${table})`)];
    await expect(open([entity], migrations)).rejects.toThrow(message);
    // It is not half done, and the next start does not pass either.
    await expect(open([entity], migrations)).rejects.toThrow(message);
    const other = execute(FIRST, 'CREATE TABLE beds (something integer)');
    await (await open([], [other])).destroy();
  },
);

const ACCEPTED: [entity: Class, table: Table][] = [
  [GIVEN, 'id bigint PRIMARY KEY NOT NULL'],
  [
    GIVEN,
    'id integer PRIMARY KEY, place integer UNIQUE, "further" text NOT NULL DEFAULT \'SERIAL\'',
  ],
  [PAIR, 'place bigint, id bigint, PRIMARY KEY (place, id)'],
  // Names without quotes are stored in small letters on one engine, and are as good on the other.
  [GIVEN, 'ID bigint, PRIMARY KEY (ID)'],
];
const ACCEPTED_ON: Record<typeof ENGINE, [entity: Class, table: Table][]> = {
  sqlite: [
    [COUNTED, 'id integer PRIMARY KEY AUTOINCREMENT NOT NULL'],
    [COUNTED_INT64, 'Id INTEGER, PRIMARY KEY (Id)'],
    [IDENTITY, 'id integer PRIMARY KEY NOT NULL'],
    [UUID, 'id varchar PRIMARY KEY NOT NULL'],
    [NUMBERED, 'id integer PRIMARY KEY NOT NULL, place integer'],
  ],
  postgres: [
    [COUNTED, 'id serial PRIMARY KEY'],
    [COUNTED, 'id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY'],
    [COUNTED_INT64, "id bigint DEFAULT nextval('numbers') PRIMARY KEY"],
    [IDENTITY, 'id bigserial PRIMARY KEY'],
    [UUID, 'id uuid DEFAULT gen_random_uuid() PRIMARY KEY'],
    [UUID, 'id varchar DEFAULT md5(random()::text) PRIMARY KEY'],
    [NUMBERED, 'id bigint PRIMARY KEY, place serial'],
    [GIVEN, 'id bigint, place bigint, PRIMARY KEY (id) INCLUDE (place)'],
  ],
};

it.each([...ACCEPTED, ...ACCEPTED_ON[ENGINE]])(
  'a table is accepted whose key is as the entity declares: %p with %s',
  async (entity, table) => {
    const sequence = ENGINE === 'postgres' ? ['CREATE SEQUENCE numbers'] : [];
    const create = execute(FIRST, ...sequence, `CREATE TABLE beds (${table})`);
    const dataSource = await open([entity], [create]);
    const rows = dataSource.getRepository(entity);
    const isGiven = rows.metadata.generatedColumns.every(({ isPrimary }) => !isPrimary);
    for (const id of ['1', '2']) await rows.insert(isGiven ? { id, place: id } : {});
    expect(await rows.count()).toBe(2);
    await dataSource.destroy();
  },
);

const INTEGER_KEY = 'CREATE TABLE beds (id bigint PRIMARY KEY)';
const REPAIRED =
  ENGINE === 'sqlite'
    ? ['DROP TABLE beds', 'CREATE TABLE beds (id integer PRIMARY KEY)']
    : ['ALTER TABLE beds ALTER id ADD GENERATED BY DEFAULT AS IDENTITY'];

it('the tables are compared after the last migration only', async () => {
  const migrations = [execute(FIRST, INTEGER_KEY), execute(SECOND, ...REPAIRED)];
  await (await open([COUNTED], migrations)).destroy();
});

it('a table is refused again until a migration corrects it', async () => {
  const migrations = [
    execute(FIRST, INTEGER_KEY),
    execute(SECOND, 'CREATE TABLE pots (a integer)'),
  ];
  for (let start = 0; start < 2; start++) {
    await expect(open([COUNTED], migrations)).rejects.toThrow(notGenerated('bigint'));
  }
  const corrected = [...migrations, execute(THIRD, ...REPAIRED)];
  await (await open([COUNTED], corrected)).destroy();
});

it('a start without migrations to run compares nothing', async () => {
  const migrations = [execute(FIRST, INTEGER_KEY)];
  await (await open([], migrations)).destroy();
  await (await open([COUNTED], migrations)).destroy();
});

it('a migration that is undone or only recorded is not compared', async () => {
  await (await open([], [execute(FIRST, INTEGER_KEY)])).destroy();
  const env = { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 2 };
  const migrations = [execute(FIRST), execute(SECOND)];
  const dataSource = await openDatabase(
    createDataSourceOptions(env, { entities: [COUNTED], migrations }),
    async (opened) => {
      await opened.initialize();
      await opened.runMigrations({ fake: true });
      await opened.undoLastMigration();
    },
  );
  await expect(dataSource.runMigrations()).rejects.toThrow(notGenerated('bigint'));
  await dataSource.destroy();
});

it('a table that only a trigger fills is accepted, and other triggers are no reason', async () => {
  const statements =
    ENGINE === 'sqlite'
      ? [
          'CREATE TABLE beds (id integer PRIMARY KEY)',
          'CREATE TRIGGER touch AFTER INSERT ON beds BEGIN SELECT 1; END',
        ]
      : [
          INTEGER_KEY,
          'CREATE FUNCTION draw() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.id = 1; RETURN NEW; END$$',
          'CREATE TRIGGER draw BEFORE INSERT ON beds FOR EACH ROW EXECUTE FUNCTION draw()',
        ];
  await (await open([COUNTED], [execute(FIRST, ...statements)])).destroy();
});

// Entities as TypeORM's documentation writes them.

@Entity()
@TableInheritance({ column: { type: 'varchar', name: 'kind' } })
class Content {
  @PrimaryGeneratedColumn()
  id!: number;
}

@ChildEntity()
class Photo extends Content {
  @Column()
  size!: string;
}

@Entity()
@Tree('closure-table')
class Category {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @TreeChildren()
  children!: Category[];

  @TreeParent()
  parent!: Category;
}

@Entity('My Books')
class Book {
  @PrimaryGeneratedColumn({ name: 'Book Id', type: 'bigint' })
  id!: string;

  @ManyToMany(() => Category)
  @JoinTable({ name: 'shelves' })
  categories!: Category[];
}

class Place {
  @PrimaryColumn()
  row!: number;
}

@Entity()
class Seat {
  @Column(() => Place)
  place!: Place;

  @PrimaryColumn()
  hall!: string;
}

@Entity()
class Ticket {
  @PrimaryGeneratedColumn('identity')
  id!: number;
}

@ViewEntity({ expression: 'SELECT 1 AS one' })
class One {
  @ViewColumn()
  one!: number;
}

/** TypeORM does not compare it either. */
@Entity('foreign_rows', { synchronize: false })
class ForeignRow {
  @PrimaryGeneratedColumn()
  id!: number;
}

const ORDINARY = [Content, Photo, Category, Book, Seat, Ticket, One];

describe('the tables that TypeORM makes of ordinary entities', () => {
  it('are accepted', async () => {
    const dataSource = await open(ORDINARY, []);
    await dataSource.synchronize();
    await dataSource.destroy();
    const create = execute(FIRST, 'CREATE TABLE foreign_rows (id text)');
    await (await open([...ORDINARY, ForeignRow], [create])).destroy();
  });

  it('are refused if a junction has another key', async () => {
    const dataSource = await open(ORDINARY, []);
    await dataSource.synchronize();
    await dataSource.query('DROP TABLE shelves');
    await dataSource.destroy();
    const create = execute(FIRST, 'CREATE TABLE shelves (number integer PRIMARY KEY)');
    await expect(open(ORDINARY, [create])).rejects.toThrow(
      /^.*The table shelves has the primary key \(number\), and must have \(.*, .*\)/,
    );
  });
});

if (ENGINE === 'postgres') {
  it('a table in another schema is compared, and not one of the same name', async () => {
    @Entity({ name: 'beds', schema: 'Gardens' })
    class Bed {
      @PrimaryGeneratedColumn()
      id!: number;
    }
    const create = (id: string): Migration =>
      execute(
        FIRST,
        'CREATE SCHEMA "Gardens"',
        'CREATE TABLE beds (id text)',
        `CREATE TABLE "Gardens".beds (id ${id} PRIMARY KEY)`,
      );
    await expect(open([Bed], [create('integer')])).rejects.toThrow(
      'The table Gardens.beds does not generate id',
    );
    await (await open([Bed], [create('serial')])).destroy();
  });

  it('a view in place of a table is not compared, and a partitioned table is', async () => {
    const view = execute(FIRST, 'CREATE VIEW beds AS SELECT 1::bigint AS id');
    await (await open([GIVEN], [view])).destroy();
    const parted = execute(
      SECOND,
      'DROP VIEW beds',
      'CREATE TABLE beds (id bigint, place bigint, PRIMARY KEY (id, place)) PARTITION BY HASH (place)',
    );
    await expect(open([GIVEN], [view, parted])).rejects.toThrow(
      hasKey('the primary key (id, place)'),
    );
    await (await open([PAIR], [view, parted])).destroy();
  });
}

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  Column,
  Entity,
  ForeignKey,
  type MigrationInterface,
  PrimaryColumn,
  type QueryRunner,
} from 'typeorm';
import { BatchedRepository, int32, nullable, RecordChanges, text } from 'durable-rest';
import { createDataSourceOptions, platformSchema } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import { ENGINE, TestStore } from 'durable-rest/testing';

@RecordChanges('thing')
@Entity('things')
class Thing {
  @PrimaryColumn(text())
  id!: string;

  @Column(int32())
  n!: number;

  @Column({ ...nullable(text()), unique: true })
  place!: string | null;

  @Column(nullable(text()))
  updated!: string | null;
}

@RecordChanges('part')
@Entity('parts')
class Part {
  @PrimaryColumn(text())
  id!: string;

  @ForeignKey(() => Thing, { onDelete: 'CASCADE', onUpdate: 'CASCADE' })
  @Column(text())
  thing!: string;
}

class CreateThings1790000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'CREATE TABLE things (id text NOT NULL PRIMARY KEY, n integer NOT NULL, place text UNIQUE, updated text)',
    );
    await queryRunner.query(
      `CREATE TABLE parts (id text NOT NULL PRIMARY KEY,
       thing text NOT NULL REFERENCES things ON DELETE CASCADE ON UPDATE CASCADE)`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('parts');
    await queryRunner.dropTable('things');
  }
}

const schema = {
  entities: [...platformSchema.entities, Thing, Part],
  migrations: [...platformSchema.migrations, CreateThings1790000000000],
};

let store: TestStore;
let dataSource: StoreDataSource;

async function open(CHANGE_FEED: 'on' | 'off'): Promise<void> {
  const env = { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 2, CHANGE_FEED };
  dataSource = await openDatabase({ ...createDataSourceOptions(env, schema), logger: 'debug' });
}

async function restart(CHANGE_FEED: 'on' | 'off' = 'on'): Promise<void> {
  await dataSource.destroy();
  await open(CHANGE_FEED);
}

beforeEach(async () => {
  Logger.overrideLogger(false);
  store = await TestStore.create();
  await open('off');
});
afterEach(async () => {
  await dataSource.destroy();
  await store.remove();
});

/** What a module's trigger on `things` does. On PostgreSQL it does not fire itself. */
interface Trigger {
  readonly event: string;
  readonly action: string;
  /** If the action is another one there. */
  readonly postgres?: string;
}

async function createTrigger(name: string, { event, action, postgres }: Trigger): Promise<void> {
  if (ENGINE === 'sqlite') {
    await dataSource.query(`CREATE TRIGGER ${name} ${event} ON things BEGIN ${action} END`);
    return;
  }
  const row = event.endsWith('DELETE') ? 'OLD' : 'NEW';
  await dataSource.query(
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
     IF pg_trigger_depth() = 1 THEN ${postgres ?? action} END IF;
     RETURN ${row}; END $$`,
  );
  await dataSource.query(
    `CREATE TRIGGER ${name} ${event} ON things FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  );
}

const TOUCH = `UPDATE things SET updated = 'at ' || n WHERE id = NEW.id;`;

const TRIGGERS: [title: string, trigger: Trigger][] = [
  ['touches a changed row', { event: 'AFTER UPDATE', action: TOUCH }],
  ['touches a row if a column changes', { event: 'AFTER UPDATE OF n', action: TOUCH }],
  ['touches a new row', { event: 'AFTER INSERT', action: TOUCH }],
  [
    'touches a row before it changes',
    { event: 'BEFORE UPDATE', action: TOUCH, postgres: `NEW.updated := 'at ' || NEW.n;` },
  ],
  [
    'takes a change back',
    { event: 'AFTER UPDATE', action: 'UPDATE things SET n = OLD.n WHERE id = NEW.id;' },
  ],
  [
    'removes a new row',
    { event: 'AFTER INSERT', action: 'DELETE FROM things WHERE id = NEW.id AND n % 2 = 0;' },
  ],
  [
    'removes a changed row',
    { event: 'AFTER UPDATE', action: 'DELETE FROM things WHERE id = NEW.id AND n % 2 = 0;' },
  ],
  [
    'gives a new row another key',
    { event: 'AFTER INSERT', action: `UPDATE things SET id = 'k' || id WHERE id = NEW.id;` },
  ],
  [
    'gives a changed row another key',
    {
      event: 'AFTER UPDATE',
      action: `UPDATE things SET id = 'k' || id WHERE id = NEW.id AND n = 4;`,
    },
  ],
  [
    'stores a removed row again',
    {
      event: 'AFTER DELETE',
      action: 'INSERT INTO things (id, n) VALUES (OLD.id, 0) ON CONFLICT DO NOTHING;',
    },
  ],
  [
    'changes the other rows',
    { event: 'AFTER UPDATE', action: 'UPDATE things SET n = n + 1 WHERE id <> NEW.id;' },
  ],
  [
    'adds another row',
    {
      event: 'AFTER INSERT',
      action: `INSERT INTO things (id, n) VALUES ('more', 1) ON CONFLICT (id) DO UPDATE SET n = 2;`,
    },
  ],
  [
    'leaves rows out',
    {
      event: 'BEFORE INSERT',
      action: 'SELECT RAISE(IGNORE) WHERE NEW.n = 2;',
      postgres: 'IF NEW.n = 2 THEN RETURN NULL; END IF;',
    },
  ],
];

const ROW = { place: null, updated: null };

/** Each is a commit. A trigger may make one of them fail. */
const STATEMENTS: [title: string, work: (things: BatchedRepository<Thing>) => Promise<unknown>][] =
  [
    ['creates', (things) => things.createAll([1, 2, 3].map((n) => ({ ...ROW, id: `${n}`, n })))],
    ['an INSERT', () => dataSource.query(`INSERT INTO things (id, n) VALUES ('4', 4), ('5', 5)`)],
    [
      'an INSERT of parts',
      () => dataSource.query(`INSERT INTO parts SELECT 'part ' || id, id FROM things`),
    ],
    ['a replacement', (things) => things.replace({ ...ROW, id: '1', n: 10 })],
    [
      'changes of one row',
      (things) =>
        Promise.all([11, 12, 13].map((n) => things.change('1', (row) => row && { ...row, n }))),
    ],
    ['an update() of TypeORM', () => dataSource.getRepository(Thing).update('3', { n: 4 })],
    ['an UPDATE of all rows', () => dataSource.query('UPDATE things SET n = n + 3')],
    ['an UPDATE of nothing', () => dataSource.query('UPDATE things SET n = n')],
    ['an UPDATE of keys', () => dataSource.query(`UPDATE things SET id = 'x' || id`)],
    [
      'an upsert',
      () =>
        dataSource.query(
          `INSERT INTO things (id, n) VALUES ('x1', 7), ('new', 8) ON CONFLICT (id) DO UPDATE SET n = 9`,
        ),
    ],
    [
      'a transaction',
      () =>
        dataSource.transaction(async (manager) => {
          await manager.query(`UPDATE things SET n = 20 WHERE id = 'x1'`);
          await manager.query(`DELETE FROM things WHERE id = 'x1'`);
          await manager.query(`INSERT INTO things (id, n) VALUES ('x1', 21)`);
        }),
    ],
    ['a removal', (things) => things.remove('x1')],
    ['a DELETE', () => dataSource.query('DELETE FROM things')],
  ];

/** Statements that replace rows. */
const REPLACEMENTS: typeof STATEMENTS = [
  [
    'rows to replace',
    () =>
      dataSource.query(
        `INSERT INTO things (id, n, place) VALUES ('a', 1, 'left'), ('b', 3, 'right'), ('c', 5, 'top')`,
      ),
  ],
  ['a REPLACE', () => dataSource.query(`REPLACE INTO things (id, n) VALUES ('c', 7)`)],
  [
    'an INSERT OR REPLACE of two rows',
    () => dataSource.query(`insert or replace into things (id, n, place) VALUES ('a', 3, 'right')`),
  ],
  [
    'an UPDATE OR REPLACE',
    () => dataSource.query(`UPDATE OR/**/REPLACE things SET place = 'right' WHERE id = 'c'`),
  ],
];

type Rows = Map<string, unknown>;

/** A mirror of the tables, which is kept by the feed alone. */
class Mirror {
  private readonly rows: Rows = new Map();
  private number = 0;

  async follow(): Promise<Rows> {
    const changes = await dataSource.query<
      { number: string; type: string; id: string; data: string | null }[]
    >(`SELECT number, type, id, data FROM changes WHERE number > ${this.number} ORDER BY number`);
    for (const { number, type, id, data } of changes) {
      const [name = '', what] = type.split('.');
      const key = `${name} ${JSON.parse(id)}`;
      if (what === 'removed') this.rows.delete(key);
      else this.rows.set(key, JSON.parse(data ?? ''));
      this.number = Number(number);
    }
    return this.rows;
  }
}

async function readTables(): Promise<Rows> {
  const rows: Rows = new Map();
  for (const [name, entity] of [
    ['thing', Thing],
    ['part', Part],
  ] as const) {
    for (const row of await dataSource.getRepository(entity).find()) {
      const members = Object.entries(row).filter(([, value]) => value !== null);
      rows.set(`${name} ${row.id}`, Object.fromEntries(members));
    }
  }
  return rows;
}

/** When a trigger is made, and its name. The order of triggers on PostgreSQL is that of their names. */
const MOMENTS: [
  title: string,
  name: string,
  make: (create: () => Promise<void>) => Promise<void>,
][] = [
  [
    'before the feed is switched on',
    'a_trigger',
    async (create) => {
      await create();
      await restart();
    },
  ],
  [
    'while the program runs',
    'z_trigger',
    async (create) => {
      await restart();
      await create();
    },
  ],
  [
    'before a restart',
    'a_trigger',
    async (create) => {
      await restart();
      await create();
      await restart();
    },
  ],
];

/** A trigger may leave a row out, or violate a constraint. */
const FAILURE = /^none$|left the row out|constraint failed|unique constraint/;
/** Where rows may be replaced, it must not fire itself. */
const FAILURE_OF_REPLACE = new RegExp(`${FAILURE.source}|where rows may be replaced`);

describe('a mirror equals the tables after each commit, with a trigger that', () => {
  describe.each(TRIGGERS)('%s,', (_, trigger) => {
    it.each(ENGINE === 'sqlite' ? MOMENTS : MOMENTS.slice(0, 2))(
      'made %s',
      async (__, name, make) => {
        await make(() => createTrigger(name, trigger));
        const mirror = new Mirror();
        const things = new BatchedRepository(dataSource.getRepository(Thing));
        const statements = ENGINE === 'sqlite' ? [...STATEMENTS, ...REPLACEMENTS] : STATEMENTS;
        for (const [title, work] of statements) {
          const failure = await work(things).then(
            () => 'none',
            (error: unknown) => (error as Error).message,
          );
          const allowed = title.includes('REPLACE') ? FAILURE_OF_REPLACE : FAILURE;
          expect([title, failure]).toEqual([title, expect.stringMatching(allowed)]);
          expect([title, await mirror.follow()]).toEqual([title, await readTables()]);
        }
      },
    );
  });
});

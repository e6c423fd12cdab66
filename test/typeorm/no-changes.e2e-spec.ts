import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Column,
  type ColumnOptions,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  Index,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Unique,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm';
import {
  boolean,
  bytes,
  CreateTable,
  date,
  decimal,
  instant,
  int32,
  int64,
  json,
  nullable,
  oneOf,
  text,
  uuid,
} from 'durable-rest';
import { createDataSourceOptions, type Schema } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import { schema as nursery } from '../../examples/nursery/src/schema.js';
import { Numbered } from '../cases/entities.js';
import { schema } from '../fixtures/schema.js';
import { openEntityStore } from '../support/store.js';
import { ENGINE, TestStore } from 'durable-rest/testing';

// TypeORM compares the entities with the tables: for `migration:generate`, `schema:log` and
// `synchronize()`. It must find nothing to change where nothing differs.

async function listChanges(dataSource: StoreDataSource): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  return upQueries.map(({ query }) => query);
}

/** Every type of a column of a repository. */
const COLUMNS = {
  word: oneOf(),
  number: int32(),
  large: int64(),
  price: decimal(12, 2),
  isDone: boolean(),
  day: date(),
  moment: instant(),
  other: uuid(),
  facts: nullable(json()),
  photo: nullable(bytes()),
};

@Entity('samples')
class Sample {
  @PrimaryColumn(uuid())
  id!: string;
}
for (const [name, type] of Object.entries(COLUMNS)) Column(type)(Sample.prototype, name);

class CreateSamples1900000000000 extends CreateTable({
  name: 'samples',
  columns: { id: uuid(), ...COLUMNS },
  key: ['id'],
}) {}

class CreateNumbered1900000000001 extends CreateTable({
  name: 'numbers',
  columns: { id: int64(), name: text() },
  key: ['id'],
  countsUp: true,
}) {}

const OWN_SCHEMA: Schema = {
  entities: [Sample, Numbered],
  migrations: [CreateSamples1900000000000, CreateNumbered1900000000001],
};

function join(...parts: readonly Schema[]): Schema {
  return {
    entities: parts.flatMap(({ entities }) => entities),
    migrations: parts.flatMap(({ migrations }) => migrations),
  };
}

describe.each([
  ['of the nursery', nursery],
  ['with every type of a column', join(schema, OWN_SCHEMA)],
])('a migrated store %s', (_, tables) => {
  let store: TestStore;
  beforeEach(async () => {
    store = await TestStore.create();
  });
  afterEach(() => store.remove());

  it.each(['on', 'off'] as const)('needs no change, with the feed %s', async (CHANGE_FEED) => {
    const env = { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 1, CHANGE_FEED };
    const dataSource = await openDatabase(createDataSourceOptions(env, tables));
    expect(await listChanges(dataSource)).toEqual([]);
    await dataSource.destroy();
  });
});

// Entities as TypeORM's documentation writes them.

class Name {
  @Column()
  first!: string;

  @Column({ type: 'varchar', length: 50, nullable: true })
  last!: string | null;
}

@Entity()
@Unique(['email'])
class Author {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ default: 'nobody@example.org' })
  email!: string;

  @Column(() => Name)
  name!: Name;

  @Column({ default: true })
  isActive!: boolean;

  @Column({ type: 'simple-enum', enum: ['one', 'two'], default: 'one' })
  kind!: string;

  @Column('simple-array')
  tags!: string[];

  @Column('simple-json', { nullable: true })
  facts!: object | null;

  @Column({ type: 'decimal', precision: 10, scale: 2, default: 0 })
  price!: string;

  @Column('float')
  weight!: number;

  @CreateDateColumn()
  createdAt!: Date;

  @UpdateDateColumn()
  updatedAt!: Date;

  @DeleteDateColumn()
  deletedAt!: Date | null;

  @VersionColumn()
  version!: number;

  @OneToMany(() => Book, (book) => book.author)
  books!: Book[];
}

@Entity()
@Index(['title', 'author'])
class Book {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Index({ where: `title <> ''` })
  @Column()
  title!: string;

  @ManyToOne(() => Author, (author) => author.books, { onDelete: 'CASCADE' })
  author!: Author;

  @ManyToMany(() => Author)
  @JoinTable()
  readers!: Author[];
}

@Entity()
class Shelf {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @PrimaryColumn({ type: 'bigint' })
  row!: string;
}

const JSON_VALUE = { text: "it's", list: [1, null] };
const LIST = ['a,b', '', 'c"d', "it's", 'null', 'plain'];

/** Default values that PostgreSQL writes in another spelling, or TypeORM does not read back. */
const DEFAULTS: Record<string, ColumnOptions> = {
  json: { type: 'jsonb', default: JSON_VALUE },
  jsonText: { type: 'jsonb', default: '{"b":1,"a":2}' },
  decimal: { type: 'decimal', precision: 10, scale: 2, default: 0.5 },
  decimalText: { type: 'decimal', precision: 10, scale: 2, default: '1.50' },
  float: { type: 'real', default: 1e-7 },
  text: { type: 'varchar', default: 'std::map' },
  list: { type: 'text', array: true, default: LIST },
  uuid: { type: 'uuid', default: () => 'gen_random_uuid()' },
};

@Entity('defaults')
class Defaults {
  @PrimaryColumn({ type: 'integer' })
  id!: number;
}
for (const [name, options] of Object.entries(DEFAULTS)) Column(options)(Defaults.prototype, name);

if (ENGINE === 'postgres') {
  it('default values need no change, and are those of the entity', async () => {
    const store = await openEntityStore([Defaults]);
    expect(await listChanges(store.dataSource)).toEqual([]);
    await store.dataSource.getRepository(Defaults).insert({ id: 1 });
    const rows = await store.dataSource.query<unknown[]>('SELECT * FROM defaults');
    expect(rows).toMatchObject([{ json: JSON_VALUE, list: LIST }]);
    await store.close();
  });
}

it('a store that TypeORM has made of ordinary entities needs no change', async () => {
  const store = await openEntityStore([Author, Book, Shelf, Sample, Numbered]);
  expect(await listChanges(store.dataSource)).toEqual([]);
  await store.close();
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  Column,
  CreateDateColumn,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  PrimaryGeneratedColumn,
  Table,
  VersionColumn,
  ViewColumn,
  ViewEntity,
  type MigrationInterface,
  type QueryRunner,
} from 'typeorm';
import { copyStore } from '../../packages/store/src/commands/copy-store.js';
import { schema } from '../fixtures/schema.js';
import { addToSchema, useStore } from '../support/store.js';
import { TestStore } from 'durable-rest/testing';

// db:copy copies what TypeORM's own repository stores, such as many-to-many relations.

@Entity('tags')
class Tag {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  name!: string;
}

@Entity('notes')
class Note {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column({ type: 'bigint' })
  size!: string;

  @Column({ type: 'decimal', precision: 10, scale: 2 })
  price!: string;

  @Column({ type: 'integer', nullable: true })
  weight!: number | null;

  @Column('simple-json')
  facts!: object;

  @Column({ default: true })
  isOpen!: boolean;

  @CreateDateColumn()
  at!: Date;

  @VersionColumn()
  version!: number;

  @ManyToOne(() => Note, { nullable: true })
  parent!: Note | null;

  @ManyToMany(() => Tag)
  @JoinTable()
  tags!: Tag[];
}

@ViewEntity({ name: 'note_sizes', expression: 'SELECT size FROM notes' })
class NoteSize {
  @ViewColumn()
  size!: string;
}

class CreateNotes1900000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const { driver, entityMetadatas } = queryRunner.connection;
    for (const name of ['tags', 'notes', 'notes_tags_tags']) {
      const metadata = entityMetadatas.find(({ tableName }) => tableName === name);
      if (metadata !== undefined) await queryRunner.createTable(Table.create(metadata, driver));
    }
    await queryRunner.query('CREATE VIEW note_sizes AS SELECT size FROM notes');
  }

  async down(): Promise<void> {
    // Nothing is undone.
  }
}

addToSchema({ entities: [Tag, Note, NoteSize], migrations: [CreateNotes1900000000000] });

/** More than are copied at a time. */
const TAGS = 150;

const stores: TestStore[] = [];
beforeAll(async () => {
  for (const engine of [undefined, 'sqlite', undefined] as const) {
    stores.push(await TestStore.create(engine));
  }
});
afterAll(async () => {
  for (const store of stores) await store.remove();
});

async function listNotes(store: TestStore): Promise<Note[]> {
  return await useStore(store, (dataSource) =>
    dataSource.getRepository(Note).find({
      relations: { tags: true, parent: true },
      order: { size: 'ASC', tags: { id: 'ASC' } },
    }),
  );
}

it('tables of many-to-many relations and other entities are copied, and views are not', async () => {
  const [first, between, last] = stores as [TestStore, TestStore, TestStore];
  await useStore(first, async (dataSource) => {
    const notes = dataSource.getRepository(Note);
    const names = Array.from({ length: TAGS }, (_, place) => ({ name: `tag ${place}` }));
    const tags = await dataSource.getRepository(Tag).save(names);
    const note = { price: '12.50', facts: { a: [1] }, isOpen: false, tags };
    const parent = await notes.save({ ...note, size: '9007199254740993', tags: [] });
    await notes.save({ ...note, size: '5', parent });
    await notes.save({ ...parent, facts: { changed: true } });
  });
  expect(Object.fromEntries(await copyStore(schema, first.url, between.url))).toMatchObject({
    notes: 2,
    tags: TAGS,
    notes_tags_tags: TAGS,
  });
  await copyStore(schema, between.url, last.url);
  // A second copy finds the same rows.
  let progress: number[] = [];
  await copyStore(schema, between.url, last.url, (...counts) => (progress = counts));
  const rows = 2 + 2 * TAGS;
  expect(progress).toEqual([rows, rows]);
  expect(await listNotes(last)).toEqual(await listNotes(first));
  for (const change of ['weight = 0', 'weight = NULL, price = 1']) {
    await useStore(last, (dataSource) => dataSource.query(`UPDATE notes SET ${change}`));
    await expect(copyStore(schema, between.url, last.url)).rejects.toThrow(
      'notes of the target has another row with a key or a unique value of a row to copy',
    );
  }
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  type MigrationInterface,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type QueryRunner,
} from 'typeorm';
import sqlite3 from 'sqlite3';
import { copyStore } from '../../../../src/commands/copy-store.js';
import { BatchedRepository } from '../../../../src/platform/database/batched-repository.js';
import { bytes, int64, nullable, text } from '../../../../src/platform/database/columns.js';
import { changeSchema } from '../../../../src/platform/database/migration-steps.js';
import { addToSchema, useStore } from '../../../support/store.js';
import { type Engine, TestStore } from '../../../support/test-store.js';

@Entity('tickets')
class Ticket {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;

  @Column(text())
  name!: string;
}

@Entity('beds')
class Bed {
  @PrimaryColumn(int64())
  id!: string;

  @Column(nullable(int64()))
  parentId!: string | null;

  @ManyToOne(() => Bed)
  @JoinColumn({ name: 'parentId' })
  parent?: Bed | null;
}

@Entity('photos')
class Photo {
  @PrimaryColumn(int64())
  id!: string;

  @Column(bytes())
  data!: Buffer;

  @Column(nullable(bytes()))
  preview!: Buffer | null;
}

class CreateTicketsBedsAndPhotos1900000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTable({
      name: 'tickets',
      columns: { id: int64(), name: text() },
      key: ['id'],
      countsUp: true,
    });
    await changeSchema(queryRunner).createTable({
      name: 'beds',
      columns: { id: int64(), parentId: nullable(int64()) },
      key: ['id'],
      foreignKeys: [
        { columnNames: ['parentId'], referencedTableName: 'beds', referencedColumnNames: ['id'] },
      ],
    });
    await changeSchema(queryRunner).createTable({
      name: 'photos',
      columns: { id: int64(), data: bytes(), preview: nullable(bytes()) },
      key: ['id'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('photos');
    await queryRunner.dropTable('beds');
    await queryRunner.dropTable('tickets');
  }
}

addToSchema({
  entities: [Ticket, Bed, Photo],
  migrations: [CreateTicketsBedsAndPhotos1900000000000],
});

/** Reading from one engine does not depend on the engine that is written to. */
const DIRECTIONS: readonly [Engine, Engine][] = [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
];

interface Rows {
  readonly tickets: BatchedRepository<Ticket>;
  readonly beds: BatchedRepository<Bed>;
}

async function useRows<Result>(
  store: TestStore,
  work: (rows: Rows) => Promise<Result>,
): Promise<Result> {
  return await useStore(store, (dataSource) =>
    work({
      tickets: new BatchedRepository(dataSource.getRepository(Ticket)),
      beds: new BatchedRepository(dataSource.getRepository(Bed)),
    }),
  );
}

async function addTicket(store: TestStore): Promise<string> {
  return await useRows(store, async ({ tickets }) => (await tickets.add({ name: 'n' })).id);
}

let from: TestStore;
let to: TestStore;

afterEach(async () => {
  await from.remove();
  await to.remove();
});

describe.each(DIRECTIONS)('copying keys that count up, from %s to %s', (source, target) => {
  beforeEach(async () => {
    from = await TestStore.create(source);
    to = await TestStore.create(target);
  });

  const copy = (): Promise<unknown> => copyStore(from.url, to.url, () => undefined);

  it('lets a table that was never used count from 1', async () => {
    await useRows(from, () => Promise.resolve());
    await copy();
    expect(await addTicket(to)).toBe('1');
  });

  it('lets the target continue after the greatest key, however it was given', async () => {
    await useRows(from, ({ tickets }) => tickets.create({ id: '9007199254740993', name: 'n' }));
    await copy();
    expect(await addTicket(to)).toBe('9007199254740994');
  });
});

describe.each(DIRECTIONS)(
  'copying a table that refers to itself, from %s to %s',
  (source, target) => {
    it('copies rows whose parents follow in the order of the keys', async () => {
      from = await TestStore.create(source);
      to = await TestStore.create(target);
      // The parents of some are further away than the rows that are read at a time.
      const beds = Array.from({ length: 3_600 }, (_, id) => ({
        id: String(id),
        parentId: id < 2_400 ? String(id + 1_200) : null,
      }));
      await useRows(from, async (rows) => {
        for (let end = beds.length; end > 0; end -= 400) {
          await rows.beds.createAll(beds.slice(end - 400, end));
        }
      });
      const tables: Record<string, number> = {};
      await copyStore(from.url, to.url, (table, rows) => (tables[table] = rows));
      expect(tables).toMatchObject({ beds: beds.length });
    });
  },
);

describe.each(DIRECTIONS)('copying bytes, from %s to %s', (source, target) => {
  it('copies them exactly, keeps equal ones, and refuses others', async () => {
    from = await TestStore.create(source);
    to = await TestStore.create(target);
    const photos = (store: TestStore, work: (rows: BatchedRepository<Photo>) => Promise<unknown>) =>
      useStore(store, async (dataSource) =>
        work(new BatchedRepository(dataSource.getRepository(Photo))),
      );
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const data = [every, Buffer.alloc(0), Buffer.alloc(3_000_000, every)];
    const preview = [null, Buffer.alloc(0), every];
    const rows = data.map((given, id) => ({
      id: String(id),
      data: given,
      preview: preview[id] ?? null,
    }));
    await photos(from, (all) => all.createAll(rows));
    const tables: Record<string, number> = {};
    const copy = (): Promise<void> =>
      copyStore(from.url, to.url, (table, count) => (tables[table] = count));
    await copy();
    await copy();
    expect(tables).toMatchObject({ photos: 3 });
    await photos(to, async (all) => {
      for (const row of rows) {
        expect((await all.readBytes(row.id, 'data'))?.equals(row.data)).toBe(true);
        expect(await all.readBytes(row.id, 'preview')).toEqual(row.preview);
      }
      await all.update('2', (photo) => ({ ...photo, preview: null }));
    });
    await expect(copy()).rejects.toThrow('photos of the target has another row');
  });
});

describe('copying a table that refers to itself', () => {
  it('fails if a parent exists nowhere', async () => {
    from = await TestStore.create('sqlite');
    to = await TestStore.create('postgres');
    await useRows(from, ({ beds }) => beds.create({ id: '1' }));
    // This connection does not enforce foreign keys.
    const database = new sqlite3.Database(from.url.replace('sqlite:', ''));
    await new Promise((resolve) =>
      database.run('INSERT INTO beds (id, "parentId") VALUES (2, 7), (3, 2), (4, 1)', resolve),
    );
    await new Promise((resolve) => database.close(resolve));
    await expect(copyStore(from.url, to.url, () => undefined)).rejects.toThrow(
      'beds has rows that refer to missing rows',
    );
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Column, Entity, ForeignKey, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { copyStore } from '../../../../packages/store/src/commands/copy-store.js';
import { schema } from '../../../fixtures/schema.js';
import { BatchedRepository, bytes, CreateTable, int64, nullable, text } from 'durable-rest';
import { addToSchema, querySqlite, useStore } from '../../../support/store.js';
import { TestStore } from 'durable-rest/testing';

/** A table whose keys count up, which refers to itself and holds bytes. */
@Entity('beds')
class Bed {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;

  @ForeignKey(() => Bed)
  @Column(nullable(int64()))
  parentId!: string | null;

  @Column(nullable(bytes()))
  photo!: Buffer | null;
}

@Entity('stories')
class Story {
  @PrimaryColumn(int64())
  id!: string;

  @Column(text())
  text!: string;
}

class CreateStories1900000000001 extends CreateTable({
  name: 'stories',
  columns: { id: int64(), text: text() },
  key: ['id'],
}) {}

class CreateBeds1900000000000 extends CreateTable({
  name: 'beds',
  columns: { id: int64(), parentId: nullable(int64()), photo: nullable(bytes()) },
  key: ['id'],
  countsUp: true,
  references: { parentId: { table: 'beds', onDelete: 'RESTRICT' } },
}) {}

addToSchema({
  entities: [Bed, Story],
  migrations: [CreateBeds1900000000000, CreateStories1900000000001],
});

const BARE = { parentId: null, photo: null };

let from: TestStore;
let to: TestStore;

beforeEach(async () => {
  from = await TestStore.create('sqlite');
  to = await TestStore.create('postgres');
});

afterEach(async () => {
  await from.remove();
  await to.remove();
});

function useBeds<Result>(
  store: TestStore,
  work: (beds: BatchedRepository<Bed>) => Promise<Result>,
): Promise<Result> {
  return useStore(store, (source) => work(new BatchedRepository(source.getRepository(Bed))));
}

/** Resolves with the number of copied beds. */
async function copy(source = from, target = to): Promise<number | undefined> {
  return (await copyStore(schema, source.url, target.url)).get('beds');
}

describe('copying a table', () => {
  it('lets keys count from 1, or after the greatest one, however it was given', async () => {
    const addBed = (): Promise<Bed> => useBeds(to, (beds) => beds.add({ ...BARE }));
    await useBeds(from, () => Promise.resolve());
    await copy();
    expect(await addBed()).toMatchObject({ id: '1' });
    for (const id of ['1', '9007199254740993']) {
      await useBeds(from, (beds) => beds.create({ id, ...BARE }));
    }
    await copy();
    expect(await addBed()).toMatchObject({ id: '9007199254740994' });
  });

  it('copies rows whose parents follow in the order of the keys', async () => {
    // The parents of some are further away than the rows that are read at a time.
    const rows = Array.from({ length: 300 }, (_, id) => ({
      id: String(id),
      parentId: id < 150 ? String(id + 150) : null,
      photo: null,
    }));
    await useBeds(from, (beds) => beds.createAll(rows.toReversed()));
    expect(await copy()).toBe(rows.length);
    await from.remove();
    from = await TestStore.create('sqlite');
    expect(await copy(to, from)).toBe(rows.length);
  });

  it('copies bytes exactly, keeps equal ones, and refuses others', async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const photos = [null, Buffer.alloc(0), Buffer.alloc(3_000_000, every)];
    const rows = photos.map((photo, id) => ({ id: String(id), parentId: null, photo }));
    await useBeds(from, (beds) => beds.createAll(rows));
    expect([await copy(), await copy(to, from)]).toEqual([rows.length, rows.length]);
    await useBeds(to, (beds) => beds.update('2', (bed) => ({ ...bed, photo: null })));
    await expect(copy()).rejects.toThrow('beds of the target has another row');
  });

  it('copies rows of any length', async () => {
    const lengths = [...Array.from({ length: 100 }, () => 400_000), 20_000_000, 1, 1];
    const rows = lengths.map((length, id) => ({ id: String(id), text: String(id).padEnd(length) }));
    await useStore(from, async (source) => {
      const stories = new BatchedRepository(source.getRepository(Story));
      for (const row of rows) await stories.create(row);
    });
    for (const [source, target] of [
      [from, to],
      [to, await TestStore.create('sqlite')],
    ] as const) {
      const copied = await copyStore(schema, source.url, target.url);
      expect(copied.get('stories')).toBe(rows.length);
      if (target !== to) await target.remove();
    }
  });

  it('fails if it refers to rows that exist nowhere', async () => {
    await useBeds(from, (beds) => beds.create({ id: '1', ...BARE }));
    // This connection does not enforce foreign keys.
    await querySqlite(
      from.url.replace('sqlite:', ''),
      'INSERT INTO beds (id, "parentId") VALUES (2, 7), (3, 2), (4, 1)',
    );
    await expect(copy()).rejects.toThrow('beds has rows that refer to missing rows');
  });
});

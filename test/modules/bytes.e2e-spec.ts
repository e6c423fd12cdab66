import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { bytes, int64, nullable } from '../../src/platform/database/columns.js';
import { resetClocks, stopClock } from '../support/clock.js';
import { type EntityStore, openEntityStore } from '../support/store.js';

@Entity('photos')
class Photo {
  @PrimaryColumn(int64())
  id!: string;

  @Column(bytes())
  data!: Buffer;

  @Column(nullable(bytes()))
  preview!: Buffer | null;
}

let store: EntityStore;

beforeEach(async () => {
  store = await openEntityStore([Photo]);
});

afterEach(async () => {
  resetClocks();
  await store.close();
});

it('bytes are stored by a repository in batches, and read only when asked for', async () => {
  const photos = new BatchedRepository(store.dataSource.getRepository(Photo));
  const data = (length: number): Buffer => Buffer.alloc(length, 'a\0\xff', 'latin1');
  const photo = (id: number, length: number): Photo => ({
    id: String(id),
    data: data(length),
    preview: null,
  });
  const ids = [1, 2, 3, 4];
  const create = (id: number): Promise<unknown> => photos.create(photo(id, 1_000 * id));
  // The first is alone in its commit, and the others share one.
  expect(await Promise.all(ids.map(create))).toEqual(ids.map(() => 'created'));
  expect(await Promise.all(ids.map(create))).toEqual(ids.map(() => 'identical'));
  expect(await photos.create(photo(1, 999))).toBe('different');
  expect(await photos.find('1')).toEqual({ id: '1' });
  for (const id of ids) {
    expect((await photos.readBytes(id, 'data'))?.equals(data(1_000 * id))).toBe(true);
    expect(await photos.readBytes(id, 'preview')).toBeNull();
  }
  expect(await photos.readBytes('5', 'data')).toBeUndefined();
  const { json } = await photos.page({ limit: 2 });
  expect(json).toMatchObject({ text: '[{"id":1},{"id":2}]' });

  // A change keeps the bytes that it leaves out.
  const preview = data(10);
  await Promise.all([
    photos.change('1', (row) => row && { ...row, preview }),
    photos.change('2', (row) => row && { ...row, data: Buffer.alloc(0) }),
    photos.replace(photo(3, 7)),
    photos.remove('4'),
    photos.create(photo(5, 5)),
  ]);
  expect((await photos.readBytes('1', 'preview'))?.equals(preview)).toBe(true);
  expect(await photos.readBytes('1', 'data')).toHaveLength(1_000);
  expect(await photos.readBytes('2', 'data')).toHaveLength(0);
  expect(await photos.readBytes('3', 'data')).toHaveLength(7);
  expect(await photos.readBytes('4', 'data')).toBeUndefined();
  await store.dataSource.transaction(async (manager) => {
    expect(await photos.create(photo(6, 6), manager)).toBe('created');
    expect(await photos.readBytes('6', 'data', manager)).toHaveLength(6);
  });
});

it('bytes that wait for a commit are bounded', async () => {
  const photos = new BatchedRepository(store.dataSource.getRepository(Photo));
  const data = Buffer.alloc(1024 * 1024, 1);
  // However slow this machine is, no row waits too long.
  stopClock();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 40 }, (_, id) => photos.create({ id: String(id), data, preview: null })),
  );
  const stored = outcomes.filter(({ status }) => status === 'fulfilled');
  expect(stored).toHaveLength(32);
});

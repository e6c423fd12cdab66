import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { bytes, int64, nullable } from '../../src/platform/database/columns.js';
import { changeSchema } from '../../src/platform/database/migration-steps.js';
import { type EntityStore, openEntityStore } from '../support/entity-store.js';

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

afterEach(() => store.close());

it('bytes are stored exactly, in a table that a migration has made', async () => {
  const { dataSource } = store;
  const runner = dataSource.createQueryRunner();
  await runner.dropTable('photos');
  await changeSchema(runner).createTable({
    name: 'photos',
    columns: { id: int64(), data: bytes() },
    key: ['id'],
  });
  const preview = { table: 'photos', column: 'preview', type: nullable(bytes()) };
  await changeSchema(runner).addColumn(preview);
  await runner.release();
  const photos = dataSource.getRepository(Photo);
  const data = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  await photos.save([
    { id: '1', data, preview: null },
    { id: '2', data: Buffer.alloc(0), preview: Buffer.alloc(300_000, data) },
  ]);
  const [first, second] = await photos.find({ order: { id: 'ASC' } });
  expect(first).toEqual({ id: '1', data, preview: null });
  expect(second?.data).toHaveLength(0);
  expect(second?.preview?.equals(Buffer.alloc(300_000, data))).toBe(true);
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import {
  BatchedRepository,
  date,
  inRange,
  int32,
  int64,
  nullable,
  startsWithIgnoringCase,
  text,
} from 'durable-rest';
import type { Where } from '../../packages/store/src/repositories/page-reader.js';
import { type EntityStore, openEntityStore } from '../support/store.js';

@Entity('herbs')
class Herb {
  @PrimaryColumn(int64())
  id!: string;

  @Column({ ...text(), name: 'herb_name' })
  name!: string;

  @Column(nullable(text()))
  tag!: string | null;

  @Column(date())
  sownOn!: string;

  @Column(int32())
  height!: number;
}

@Entity('seats')
class Seat {
  @PrimaryColumn(text())
  row!: string;

  @PrimaryColumn({ ...int64(), name: 'seat_place' })
  place!: string;

  @Column(nullable(text()))
  guest!: string | null;
}

let store: EntityStore;
let herbs: BatchedRepository<Herb>;
let seats: BatchedRepository<Seat>;

beforeAll(async () => {
  store = await openEntityStore([Herb, Seat]);
  herbs = new BatchedRepository(store.dataSource.getRepository(Herb), {
    orders: {
      name: [{ ignoringCase: 'name' }],
      exactName: ['name'],
      height: ['height', 'sownOn', { ignoringCase: 'name' }],
    },
  });
  seats = new BatchedRepository(store.dataSource.getRepository(Seat));
  const herb = { name: 'Mint', tag: 'a"b', sownOn: '2026-03-01', height: 7 };
  await herbs.createAll([
    { ...herb, id: '1' },
    { ...herb, id: '2' },
    { ...herb, id: '3', tag: null },
    { ...herb, id: '4', tag: null },
  ]);
  await seats.createAll(['1', '2'].map((place) => ({ row: 'a', place })));
});

afterAll(() => store.close());

// Clients hold cursors while a program is upgraded. These are of version 1.2.0.
it.each<[sort: string | undefined, where: Where<Herb>, cursor: string]>([
  [undefined, {}, '1'],
  ['id', { name: 'Mint' }, '1'],
  ['-id', { tag: null }, '4'],
  ['name', {}, 'WyJsWVBPTGZTNmpSOSIsIm1pbnQiLCIxIl0'],
  ['-name', {}, 'WyJ4Qy1LN18wbENJUiIsIm1pbnQiLCI0Il0'],
  ['name', { tag: 'a"b' }, 'WyJDUkdRNHFsMXQ0SyIsIm1pbnQiLCIxIl0'],
  ['name', { tag: null }, 'WyJLLTU5T1d5WTVGUSIsIm1pbnQiLCIzIl0'],
  ['name', { name: startsWithIgnoringCase('mI') }, 'WyJKdWlaWDZuNW1MMyIsIm1pbnQiLCIxIl0'],
  [
    '-name',
    { name: startsWithIgnoringCase('m'), height: 7 },
    'WyJfV21ob2l6RTVFQiIsIm1pbnQiLCI0Il0',
  ],
  ['exactName', {}, 'WyJDTHVoVGVEeXhFNyIsIk1pbnQiLCIxIl0'],
  [
    'exactName',
    { name: inRange({ from: 'M', before: 'N' }) },
    'WyI3eTlWRDBoT01DZCIsIk1pbnQiLCIxIl0',
  ],
  [
    'exactName',
    { sownOn: inRange({ after: '2026-02-28', to: '2026-03-01' }) },
    'WyJ1bkZVRUpoWmJtNyIsIk1pbnQiLCIxIl0',
  ],
  ['height', {}, 'WyJPRFVhNDNBUS0xSiIsIjciLCIyMDI2LTAzLTAxIiwibWludCIsIjEiXQ'],
  ['-height', { height: 7 }, 'WyJJZWhlaEZ1V3ZhdiIsIjIwMjYtMDMtMDEiLCJtaW50IiwiNCJd'],
  ['height', { height: 7, sownOn: '2026-03-01', name: 'Mint' }, '1'],
  [
    'height',
    { id: inRange({ before: 9n }), tag: 'a"b' },
    'WyJkVmRFMEpYeTNjMyIsIjciLCIyMDI2LTAzLTAxIiwibWludCIsIjEiXQ',
  ],
])('a cursor of the order %s with the filters %j stays valid', async (sort, where, cursor) => {
  expect((await herbs.page({ limit: 1, sort }, where)).next).toBe(cursor);
  expect((await herbs.list({ limit: 1, sort }, where)).next).toBe(cursor);
  const all = await herbs.list({ limit: 9, sort }, where);
  const rest = await herbs.list({ limit: 9, sort, after: cursor }, where);
  expect(all.rows.length).toBeGreaterThan(1);
  expect(rest.rows).toEqual(all.rows.slice(1));
});

it('a cursor of a key of two columns stays valid', async () => {
  const after = 'WyJaaXRUMVBjbjctMCIsImEiLCIxIl0';
  expect((await seats.page({ limit: 1 })).next).toBe(after);
  expect((await seats.list({ limit: 1, after })).rows).toMatchObject([{ place: '2' }]);
});

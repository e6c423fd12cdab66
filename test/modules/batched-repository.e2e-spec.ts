import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  Check,
  Column,
  Entity,
  ForeignKey,
  Index,
  type ObjectLiteral,
  PrimaryColumn,
  PrimaryGeneratedColumn,
} from 'typeorm';
import {
  BatchedRepository,
  bytes,
  inRange,
  instant,
  int32,
  int64,
  InvalidCursorError,
  JsonText,
  MayBeStoredError,
  nullable,
  REMOVE,
  StoreUnavailableError,
  text,
} from 'durable-rest';
import type { RepositoryOptions } from '../../packages/store/src/repositories/batched-repository.js';
import type { RowPage } from '../../packages/store/src/repositories/page-reader.js';
import { resetClocks, stopClock } from 'durable-rest/testing';
import { type EntityStore, openEntityStore } from '../support/store.js';

@Entity('pots')
@Check('pots_have_a_size', 'size >= 0')
class Pot {
  @PrimaryColumn({ ...int64(), name: 'pot_id' })
  id!: string;

  @Index({ unique: true })
  @Column({ ...text(), name: 'pot_name' })
  name!: string;

  @Column(nullable(int32()))
  size!: number | null;

  @Column(nullable(instant()))
  fired!: string | null;

  @ForeignKey(() => Pot)
  @Column(nullable(int64()))
  insideId!: string | null;

  @ForeignKey(() => Ticket)
  @Column(nullable(int64()))
  ticketId!: string | null;

  @Column({ ...instant(), update: false })
  createdAt!: string;
}

@Entity('tokens')
class Token {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column(text())
  name!: string;
}

@Entity('tickets')
class Ticket {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;

  @Index({ unique: true })
  @Column(text())
  name!: string;
}

@Entity('seats')
class Seat {
  @PrimaryColumn(text())
  row!: string;

  @PrimaryColumn({ ...int64(), name: 'seat_place' })
  place!: string;

  @Column(text())
  guest!: string;
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

let store: EntityStore;
let pots: BatchedRepository<Pot>;

beforeAll(async () => {
  Logger.overrideLogger(false);
  store = await openEntityStore([Pot, Token, Ticket, Seat, Photo]);
  pots = openPots();
});

beforeEach(async () => {
  for (const table of ['pots', 'tokens', 'tickets', 'seats', 'photos']) {
    await store.dataSource.query(`DELETE FROM ${table}`);
  }
});

afterAll(() => store.close());

function openRepository<Row extends ObjectLiteral>(entity: new () => Row): BatchedRepository<Row> {
  return new BatchedRepository(store.dataSource.getRepository(entity));
}

function openPots(options: RepositoryOptions<Pot> = {}): BatchedRepository<Pot> {
  const repository = store.dataSource.getRepository(Pot);
  return new BatchedRepository(repository, { uncompared: ['createdAt'], ...options });
}

/** A pot with this id, and a name of its own. */
function pot(id: string, changes: Partial<Pot> = {}): Pot {
  const plain = { id, name: `pot ${id}`, size: null, fired: null, insideId: null, ticketId: null };
  return Object.assign(new Pot(), plain, { createdAt: '2026-11-25T10:00:00.000Z' }, changes);
}

const LONG = 'x'.repeat(20_000);

describe('rows of an entity', () => {
  it('may lack values, and are compared with those that have them', async () => {
    const row = pot('9007199254740993');
    expect(await pots.create(row)).toBe('created');
    expect(await pots.find(row.id)).toEqual(row);
    const later = '2100-01-01T00:00:00.000Z';
    expect(await pots.create({ ...row, createdAt: later })).toBe('identical');
    for (const changes of [{ size: 2 }, { fired: later }, { name: '' }]) {
      expect([changes, await pots.create({ ...row, ...changes })]).toEqual([changes, 'different']);
    }
    expect(await pots.replace({ ...row, size: 0, createdAt: later })).toBe(true);
    expect(await pots.find(row.id)).toEqual({ ...row, size: 0 });
    expect(await pots.replace({ ...row, createdAt: later })).toBe(true);
    expect(await pots.find(row.id)).toEqual(row);
  });

  it('get a generated key, and are as they are stored', async () => {
    const [tokens, tickets] = [openRepository(Token), openRepository(Ticket)];
    const uuids = await Promise.all(['a', 'b', 'c'].map((name) => tokens.add({ name })));
    expect(uuids.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    // UUIDs of version 7 begin with the time.
    expect(uuids.every(({ id }) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/.test(id))).toBe(true);
    const id = uuids[0]?.id;
    expect(await tokens.find(id?.toUpperCase())).toEqual(uuids[0]);
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    const added = await Promise.all(names.map((name) => tickets.add({ name })));
    const ids = added.map(({ id }) => Number(id));
    expect(new Set(ids).size).toBe(50);
    expect(added.map(({ name }) => name)).toEqual(names);
    expect(await tickets.find(added[7]?.id)).toEqual(added[7]);
    const taken = { kind: 'unique', properties: ['name'] };
    await expect(tickets.add({ name: 'n7' })).rejects.toMatchObject(taken);
    await store.dataSource.transaction(async (manager) => {
      const { id } = await tickets.add({ name: 'inside' }, manager);
      expect(Number(id)).toBeGreaterThan(Math.max(...ids));
    });
  });
});

it('a row with a taken key of its own is not added', async () => {
  await pots.add(pot('1'));
  const taken = { kind: 'unique', properties: ['id'] };
  await expect(pots.add(pot('1', { name: 'other' }))).rejects.toMatchObject(taken);
  expect(await pots.find('1')).toEqual(pot('1'));
});

it('only a failed addition says that its row may be stored, since a retry has another key', async () => {
  const { writers } = store.dataSource.pools;
  const acquire = jest.spyOn(writers, 'acquire').mockRejectedValue(new Error('no connection'));
  const [added, created] = await Promise.allSettled([
    openRepository(Ticket).add({ name: 'lost' }),
    pots.create(pot('1')),
  ]);
  acquire.mockRestore();
  expect(added).toMatchObject({ reason: expect.any(MayBeStoredError) });
  expect(created).toMatchObject({ reason: expect.any(StoreUnavailableError) });
  expect(created).not.toMatchObject({ reason: expect.any(MayBeStoredError) });
});

it.each(['\0', '\ud800'])('a text that not every engine stores is refused: %j', async (name) => {
  await expect(pots.create(pot('1', { name }))).rejects.toMatchObject({ name: 'RangeError' });
});

it.each([0, 2 ** 31 - 1])('an integer of 32 bits is stored: %d', async (size) => {
  await pots.create(pot('1', { size }));
  expect(await pots.find('1')).toMatchObject({ size });
});

it.each([2 ** 31, -(2 ** 31) - 1, 2 ** 32, 0.5, NaN])(
  'a number that is not an integer of 32 bits is refused: %d',
  async (size) => {
    await expect(pots.create(pot('1', { size }))).rejects.toMatchObject({ name: 'RangeError' });
  },
);

it('rows without a value are found apart from rows with one', async () => {
  await pots.createAll([pot('1'), { ...pot('2'), size: 5 }, { ...pot('3'), size: 0 }]);
  const listIds = async (size: number | null): Promise<string[]> => {
    const { rows } = await pots.list({ limit: 10 }, { size });
    return rows.map(({ id }) => id);
  };
  expect(await listIds(null)).toEqual(['1']);
  expect(await listIds(5)).toEqual(['2']);
  expect(await listIds(0)).toEqual(['3']);
  expect(await listIds(null)).toEqual(['1']);
});

it('pages that are read at the same time have as many rows as each asks for', async () => {
  const limits = [1, 2, 3, 4, 5, 6];
  await pots.createAll(limits.map((id) => pot(String(id))));
  const pages = await Promise.all(limits.map((limit) => pots.page({ limit })));
  const lists = pages.map(({ json }) => JSON.parse((json as JsonText).text) as unknown[]);
  expect(lists.map(({ length }) => length)).toEqual(limits);
});

it('a page with other members shows the rows of its transaction', async () => {
  await store.dataSource.transaction(async (manager) => {
    await pots.create(pot('1'), manager);
    const { json } = await pots.mapPage({ limit: 1 }, ({ name }) => ({ name }), {}, manager);
    expect(json).toMatchObject({ text: '[{"name":"pot 1"}]' });
  });
});

it('a row is found, changed and removed by all columns of its key', async () => {
  const seats = openRepository(Seat);
  const seat = (row: string, place: string): Seat => ({ row, place, guest: 'nobody' });
  await seats.createAll([seat('a', '1'), seat('a', '2'), seat('b', '2')]);
  const key = { row: 'a', place: 2n };
  expect(await seats.find(key)).toEqual(seat('a', '2'));
  const guest = 'Ada';
  expect(await seats.change(key, (stored) => stored && { ...stored, guest })).toEqual({
    ...seat('a', '2'),
    guest,
  });
  expect(await seats.remove(key)).toBe(true);
  const { rows } = await seats.list({ limit: 10 });
  expect(rows).toEqual([seat('a', '1'), seat('b', '2')]);
});

it.each([undefined, null])('a text in a key is refused if it is %s', async (row) => {
  const seats = openRepository(Seat);
  const key = { row, place: 1n };
  const seat = { row, place: '1', guest: 'nobody' } as unknown as Seat;
  for (const attempt of [seats.find(key), seats.remove(key), seats.create(seat)]) {
    await expect(attempt).rejects.toThrow('row is not given');
  }
});

it('a forged cursor outside of a range of texts is refused', async () => {
  const rows = openPots({ orders: { name: ['name'] } });
  for (const id of ['1', '2', '3']) await rows.create(pot(id));
  const list = (after?: string): Promise<RowPage<Pot>> =>
    rows.list({ limit: 1, sort: 'name', after }, { name: inRange({ from: 'pot 2' }) });
  const { next = '' } = await list();
  expect((await list(next)).rows).toEqual([pot('3')]);
  const forged = Buffer.from(atob(next).replace('pot 2', 'pot 1')).toString('base64url');
  await expect(list(forged)).rejects.toBeInstanceOf(InvalidCursorError);
});

it('a cursor is refused with another value of a filter', async () => {
  const rows = openPots({ orders: { name: ['name'] } });
  for (const id of ['1', '2', '3', '4']) await rows.create(pot(id, { size: Number(id) % 2 }));
  const list = (size: number, after?: string): Promise<RowPage<Pot>> =>
    rows.list({ limit: 1, sort: 'name', after }, { size });
  const { next } = await list(1);
  expect((await list(1, next)).rows).toEqual([pot('3', { size: 1 })]);
  await expect(list(0, next)).rejects.toBeInstanceOf(InvalidCursorError);
});

it('a row that violates a constraint fails alone, and the constraint is named', async () => {
  await pots.create(pot('1'));
  const violations: readonly (readonly [Partial<Pot>, object])[] = [
    [{ name: 'pot 1' }, { kind: 'unique', properties: ['name'] }],
    [{ insideId: '404' }, { kind: 'foreign key', properties: ['insideId'] }],
    [{ ticketId: '404' }, { kind: 'foreign key', properties: ['ticketId'] }],
    [{ size: -1 }, { kind: 'check', constraint: 'pots_have_a_size' }],
    [{ name: null as never }, { kind: 'not null', properties: ['name'] }],
  ];
  const writes = violations.flatMap(([changes], place) =>
    [{}, changes, {}].map((each, index) => pots.create(pot(`${place + 1}${index}`, each))),
  );
  const created = { value: 'created' };
  expect(await Promise.allSettled(writes)).toMatchObject(
    violations.flatMap(([, reason]) => [created, { reason }, created]),
  );
  expect((await pots.list({ limit: 100 })).rows).toHaveLength(11);
});

it('a list of new rows is stored but for rows that are refused, and the first with a key wins', async () => {
  await pots.create(pot('9'));
  const { failures, ...counts } = await pots.createAll([
    pot('1'),
    pot('9'),
    pot('1', { size: 9 }),
    pot('1'),
    pot('2', { name: 'pot 1' }),
    pot('3'),
  ]);
  expect(counts).toMatchObject({ created: 2, identical: 2 });
  expect([...failures]).toMatchObject([
    [2, 'different'],
    [4, { kind: 'unique', properties: ['name'] }],
  ]);
  expect((await pots.list({ limit: 10 })).rows).toEqual([pot('1'), pot('3'), pot('9')]);
});

describe('rows by key', () => {
  it.each(['', 'abc', '1.0', '9223372036854775808', '0x10', ' 1'])(
    'cannot have the key "%s" of another type',
    async (id) => {
      await expect(pots.find(id)).rejects.toThrow(TypeError);
      await expect(pots.create(pot(id))).rejects.toThrow(TypeError);
    },
  );

  it.each([
    ['array', 30, LONG],
    ['array', 1_000, '"'.repeat(LONG.length)],
    ['lines', Number.MAX_SAFE_INTEGER, LONG],
  ] as const)(
    'are in one %s of at most %d rows and 1 MiB, also when others are created meanwhile',
    async (format, limit, guest) => {
      const seats = openRepository(Seat);
      const seat = (place: number): Seat => ({ row: '"\n', place: String(place), guest });
      const places = Array.from({ length: 120 }, (_, index) => 100 + index * 2);
      await seats.createAll(places.map(seat));
      const seen: number[] = [];
      let after: string | undefined;
      do {
        const { json, next } = await seats.page({ limit, after, format });
        let text = '';
        for await (const piece of json instanceof JsonText ? [json.text] : json) {
          const first = Number(/"place":(\d+)/.exec(piece)?.[1]);
          if (text === '') await seats.createAll([1, 11, 21, 31, 41].map((n) => seat(first + n)));
          text += piece;
          if (format === 'lines') expect(piece.length).toBeLessThanOrEqual(256 * 1024);
        }
        if (format === 'array') expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024 * 1024);
        const page = [...text.matchAll(/"place":(\d+)/g)].map(([, place]) => Number(place));
        expect(page.length).toBeLessThanOrEqual(limit);
        seen.push(...page);
        after = next;
      } while (after !== undefined);
      expect(seen.filter((place) => place % 2 === 0)).toEqual(places);
    },
  );

  it('are all in the pages of a list, however many are asked for at once', async () => {
    const seats = openRepository(Seat);
    const places = Array.from({ length: 4_200 }, (_, index) => 1_000 + index);
    await seats.createAll(places.map((place) => ({ row: 'a', place: String(place), guest: 'g' })));
    const first = await seats.page({ limit: 5_000 });
    const second = await seats.page({ limit: 5_000, after: first.next });
    const shown = [first, second].flatMap(
      ({ json }) => JSON.parse((json as JsonText).text) as { place: number }[],
    );
    expect(shown.map(({ place }) => place)).toEqual(places);
    expect(second.next).toBeUndefined();
  });

  it('cannot be of a table whose name stands for the given rows of a statement', async () => {
    class GivenRow {
      id!: string;
    }
    PrimaryColumn(int64())(GivenRow.prototype, 'id');
    Entity('given_rows')(GivenRow);
    const other = await openEntityStore([GivenRow]);
    const repository = other.dataSource.getRepository(GivenRow);
    expect(() => new BatchedRepository(repository)).toThrow('has a table with the name');
    await other.close();
  });

  it('are listed in no order that NULL has no place in', () => {
    expect(() => openPots({ orders: { fired: ['fired'] } })).toThrow(
      'Rows cannot be sorted by fired, since it may be null',
    );
  });
});

describe('a change of a row', () => {
  beforeEach(() => pots.create(pot('1', { size: 1 })));

  it('may insert a row, remove one or leave things as they are', async () => {
    expect(await pots.change('2', (row) => row ?? pot('2'))).toMatchObject({ id: '2' });
    expect(await pots.find('2')).toMatchObject({ name: 'pot 2' });
    expect(await pots.change('2', () => REMOVE)).toMatchObject({ id: '2' });
    expect(await pots.find('2')).toBeUndefined();
    expect(await pots.change('2', () => REMOVE)).toBeUndefined();
    expect(await pots.change('2', () => undefined)).toBeUndefined();
    expect(await pots.change('1', () => undefined)).toMatchObject({ size: 1 });
  });

  it('leaves a column that is never updated as it is', async () => {
    const createdAt = '2100-01-01T00:00:00.000Z';
    const changed = await pots.change('1', (row) => row && { ...row, size: 2, createdAt });
    expect(changed).toEqual(pot('1', { size: 2 }));
    expect(await pots.find('1')).toEqual(changed);
  });

  it('sees the result of the changes before it, however many are concurrent', async () => {
    const changes = Array.from({ length: 60 }, (_, index) =>
      pots.change(index % 2 === 0 ? '1' : '5', (row) =>
        row === undefined ? pot('5', { size: 1 }) : { ...row, size: (row.size ?? 0) + 1 },
      ),
    );
    const results = await Promise.all(changes);
    expect(results.map((row) => row?.size)).toEqual(
      results.map((_, index) => Math.floor(index / 2) + (index % 2 === 0 ? 2 : 1)),
    );
  });

  it('fails alone when it throws, is a promise, gives another key or breaks a rule', async () => {
    const results = await Promise.allSettled([
      pots.change('1', (row) => row && { ...row, size: 10 }),
      pots.change('1', () => {
        throw new RangeError('never');
      }),
      pots.change('1', (() => Promise.reject(new Error('late'))) as never),
      pots.change('1', (row) => row && { ...row, id: '2' }),
      pots.change('1', (row) => row && { ...row, insideId: '404' }),
      pots.change('7', () => pot('7', { insideId: '404' })),
      pots.change('1', (row) => row && { ...row, size: (row.size ?? 0) + 1 }),
    ]);
    expect(results).toMatchObject([
      { value: { size: 10 } },
      { reason: { message: 'never' } },
      { reason: { message: expect.stringContaining('promise') } },
      { reason: { message: expect.stringContaining('key') } },
      { reason: { kind: 'foreign key', properties: ['insideId'] } },
      { reason: { kind: 'foreign key', properties: ['insideId'] } },
      { value: { size: 11 } },
    ]);
    expect(await pots.find('1')).toMatchObject({ size: 11, insideId: null });
  });
});

describe('bytes', () => {
  const data = (length: number): Buffer => Buffer.alloc(length, 'a\0\xff', 'latin1');
  const photo = (id: string, length: number): Photo => {
    return { id, data: data(length), preview: null };
  };
  let photos: BatchedRepository<Photo>;

  beforeEach(() => {
    photos = openRepository(Photo);
  });
  afterEach(() => resetClocks());

  it('are stored in batches, read only when asked for, and kept by changes without them', async () => {
    const ids = ['1', '2', '3', '4'];
    const create = (id: string): Promise<unknown> => photos.create(photo(id, 1_000));
    // The first is alone in its commit, and the others share one.
    expect(await Promise.all(ids.map(create))).toEqual(ids.map(() => 'created'));
    expect(await Promise.all(ids.map(create))).toEqual(ids.map(() => 'identical'));
    expect(await photos.create(photo('1', 999))).toBe('different');
    expect(await photos.find('1')).toEqual({ id: '1' });
    const { json } = await photos.page({ limit: 2 });
    expect(json).toMatchObject({ text: '[{"id":1},{"id":2}]' });
    await Promise.all([
      photos.change('1', (row) => row && { ...row, preview: data(10) }),
      photos.change('2', (row) => row && { ...row, data: Buffer.alloc(0) }),
      photos.replace(photo('3', 7)),
      photos.remove('4'),
    ]);
    expect(await photos.readBytes('1', 'data')).toEqual(data(1_000));
    expect(await photos.readBytes('1', 'preview')).toEqual(data(10));
    expect(await photos.readBytes('2', 'data')).toHaveLength(0);
    expect(await photos.readBytes('3', 'data')).toHaveLength(7);
    expect(await photos.readBytes('3', 'preview')).toBeNull();
    expect(await photos.readBytes('4', 'data')).toBeUndefined();
    await store.dataSource.transaction(async (manager) => {
      expect(await photos.create(photo('6', 6), manager)).toBe('created');
      expect(await photos.readBytes('6', 'data', manager)).toHaveLength(6);
    });
  });

  it('are kept by changes without any of them, in a table that has no other columns', async () => {
    await photos.create(photo('1', 1_000));
    expect(await photos.change('1', (row) => row)).toEqual({ id: '1' });
    expect(await photos.replace({ id: '1' } as Photo)).toBe(true);
    expect(await photos.readBytes('1', 'data')).toEqual(data(1_000));
  });

  it('that wait for a commit are bounded', async () => {
    // However slow this machine is, no row waits too long.
    stopClock();
    const rows = Array.from({ length: 40 }, (_, id) => photo(String(id), 1024 * 1024));
    const outcomes = await Promise.allSettled(rows.map((row) => photos.create(row)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(32);
  });
});

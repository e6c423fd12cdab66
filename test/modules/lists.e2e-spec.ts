import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { rename } from 'node:fs/promises';
import {
  Check,
  Column,
  Entity,
  type EntityManager,
  Index,
  type ObjectLiteral,
  PrimaryColumn,
} from 'typeorm';
import { ENGINE } from 'durable-rest/testing';
import {
  BatchedRepository,
  bytes,
  IncompleteListError,
  int32,
  int64,
  nullable,
  StoreUnavailableError,
  text,
} from 'durable-rest';
import { useEntityStore } from '../support/store.js';

@Entity('seeds')
@Check('seeds_have_a_size', 'size >= 0')
class Seed {
  @PrimaryColumn(int64())
  id!: string;

  @Index({ unique: true })
  @Column(nullable(text()))
  name!: string | null;

  @Column(int32())
  size!: number;

  @Column(nullable(text()))
  notes!: string | null;
}

@Entity('photos')
class Photo {
  @PrimaryColumn(int64())
  id!: string;

  @Column(bytes())
  data!: Buffer;
}

const store = useEntityStore([Seed, Photo], { TRANSACTION_TIMEOUT_MS: 600_000 });

afterEach(() => {
  jest.restoreAllMocks();
});

function open<Row extends ObjectLiteral>(entity: new () => Row): BatchedRepository<Row> {
  return new BatchedRepository(store.dataSource.getRepository(entity));
}

const seed = (id: number, changes: Partial<Seed> = {}): Seed => {
  return { id: String(id), name: null, size: 0, notes: null, ...changes };
};

/** Seeds with the ids from 0, more than a portion has if there are more than 1,024. */
function makeSeeds(count: number): Seed[] {
  return Array.from({ length: count }, (_, id) => seed(id));
}

async function listIds(): Promise<number[]> {
  const rows = await store.dataSource.getRepository(Seed).find({ order: { id: 'ASC' } });
  return rows.map(({ id }) => Number(id));
}

/** Does work without a manager, or with one, in a transaction of its own. */
const PLACES: readonly [
  where: string,
  execute: <Result>(work: (manager?: EntityManager) => Promise<Result>) => Promise<Result>,
][] = [
  ['outside of a transaction', (work) => work()],
  ['in a transaction', (work) => store.dataSource.transaction(work)],
];

describe.each(PLACES)('a list %s', (_, execute) => {
  it('may have any number of rows', async () => {
    const seeds = makeSeeds(25_000);
    expect(await execute((manager) => open(Seed).createAll(seeds, manager))).toMatchObject({
      created: 25_000,
      identical: 0,
    });
    expect(await listIds()).toHaveLength(25_000);
    expect(await execute((manager) => open(Seed).createAll([], manager))).toMatchObject({
      outcomes: [],
    });
  });

  it('may have rows that are longer than the rows that may wait together', async () => {
    const seeds = makeSeeds(100).map(({ id }) => seed(Number(id), { notes: id.padEnd(400_000) }));
    seeds.push(seed(100, { notes: 'x'.repeat(20_000_000) }), seed(101, { notes: 'short' }));
    expect(await execute((manager) => open(Seed).createAll(seeds, manager))).toMatchObject({
      created: 102,
    });
    const photos = Array.from({ length: 10 }, (_, id) => {
      return { id: String(id), data: Buffer.alloc(5_000_000, id) };
    });
    const again = [...photos, { id: '3', data: Buffer.alloc(5_000_000) }];
    const { outcomes } = await execute((manager) => open(Photo).createAll(again, manager));
    expect(outcomes).toEqual([...photos.map(() => 'created'), 'different']);
    // toEqual() would take seconds to compare the bytes.
    const stored = await open(Photo).readBytes('9', 'data');
    expect(stored?.equals(photos[9]?.data ?? Buffer.of())).toBe(true);
  });

  it('has an outcome for each row, and refused rows fail alone, also in a late portion', async () => {
    await open(Seed).createAll([seed(1), seed(2), seed(2_000), seed(2_001)]);
    const seeds = makeSeeds(3_000);
    const changed: Record<number, Partial<Seed>> = {
      2: { size: 1 },
      2_001: { size: 1 },
      2_002: { name: 'a' },
      // The first of several rows with the same key wins.
      2_003: { id: '2002', name: 'a' },
      2_004: { id: '7' },
      2_005: { id: '7', size: 1 },
      2_006: { name: 'a' },
      2_007: { size: -1 },
      2_008: { id: '2007' },
    };
    for (const [index, changes] of Object.entries(changed))
      Object.assign(seeds[Number(index)] ?? {}, changes);
    const outcome = await execute((manager) => open(Seed).createAll(seeds, manager));
    const wanted: Record<number, unknown> = {
      1: 'identical',
      2: 'different',
      2_000: 'identical',
      2_001: 'different',
      2_003: 'identical',
      2_004: 'identical',
      2_005: 'different',
      2_006: { kind: 'unique', properties: ['name'] },
      2_007: { kind: 'check', constraint: 'seeds_have_a_size' },
    };
    const places = Object.keys(wanted).map(Number);
    expect(places.map((place) => outcome.outcomes[place])).toMatchObject(Object.values(wanted));
    expect(outcome.outcomes.filter((one) => one === 'created')).toHaveLength(3_000 - places.length);
    expect(outcome).toMatchObject({ created: 2_991, identical: 4 });
    expect([...outcome.failures.keys()]).toEqual([2, 2_001, 2_005, 2_006, 2_007]);
    expect(await listIds()).toEqual(
      makeSeeds(3_000)
        .map(({ id }) => Number(id))
        .filter((id) => ![2_003, 2_004, 2_005, 2_006, 2_008].includes(id)),
    );
  });

  it('may repeat a key many times', async () => {
    const seeds = Array.from({ length: 1_500 }, (_, size) => seed(1, { size: size % 2 }));
    expect(await execute((manager) => open(Seed).createAll(seeds, manager))).toMatchObject({
      created: 1,
      identical: 749,
      failures: { size: 750 },
    });
  });

  it('has an error for a row that a trigger refuses', async () => {
    for (const sql of REFUSE_SIZE_9) await store.dataSource.query(sql);
    const seeds = makeSeeds(1_500).map((row, index) => ({ ...row, size: index === 1_400 ? 9 : 0 }));
    const { created, failures } = await execute((manager) => open(Seed).createAll(seeds, manager));
    expect([created, [...failures.keys()]]).toEqual([1_499, [1_400]]);
    expect(failures.get(1_400)).toBeInstanceOf(Error);
    expect(await listIds()).toHaveLength(1_499);
  });

  it('is not stored at all if a column cannot hold a value of its last row', async () => {
    const seeds = [...makeSeeds(2_000), seed(2_000, { size: 1.5 })];
    const create = execute((manager) => open(Seed).createAll(seeds, manager));
    await expect(create).rejects.toThrow('size must be an integer');
    expect(await listIds()).toEqual([]);
  });
});

const REFUSE_SIZE_9 =
  ENGINE === 'postgres'
    ? [
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN IF NEW.size = 9 THEN RAISE EXCEPTION 'no nine'; END IF; RETURN NEW; END $$`,
        'CREATE TRIGGER refuse BEFORE INSERT ON seeds FOR EACH ROW EXECUTE FUNCTION refuse()',
      ]
    : [
        `CREATE TRIGGER refuse BEFORE INSERT ON seeds WHEN NEW.size = 9
           BEGIN SELECT RAISE(ABORT, 'no nine'); END`,
      ];

describe('while a list of 40,000 rows is stored', () => {
  it('single creates are stored between its portions', async () => {
    const seeds = open(Seed);
    const state = { hasEnded: false };
    const list = seeds.createAll(makeSeeds(40_000)).finally(() => (state.hasEnded = true));
    const outcomes = [];
    for (let id = 200_000; !state.hasEnded; id++) outcomes.push(await seeds.create(seed(id)));
    expect(await list).toMatchObject({ created: 40_000 });
    expect(new Set(outcomes)).toEqual(new Set(['created']));
    // The list has about 39 portions.
    expect(outcomes.length).toBeGreaterThan(10);
  });

  it('other lists are stored too, however many', async () => {
    const seeds = open(Seed);
    const lists = Array.from({ length: 20 }, (_, list) =>
      makeSeeds(2_000).map(({ id }) => seed(list * 2_000 + Number(id))),
    );
    const outcomes = await Promise.all(lists.map((rows) => seeds.createAll(rows)));
    expect(outcomes.map(({ created }) => created)).toEqual(lists.map(() => 2_000));
  });
});

/** Resolves with the error of a list that the store could not take. */
async function getFailure(list: Promise<unknown>): Promise<IncompleteListError> {
  const error: unknown = await list.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(IncompleteListError);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  return error as IncompleteListError;
}

function findPlaces({ outcomes }: IncompleteListError, outcome: string): number[] {
  return [...outcomes.keys()].filter((index) => outcomes[index] === outcome);
}

describe('if the store fails while a list is stored', () => {
  it('the error has what is known of each row, and the list can be created again', async () => {
    const seeds = open(Seed);
    await seeds.create(seed(1));
    const rows = makeSeeds(10_000);
    const repair = await breakStoreAt(5_000, rows);
    const error = await getFailure(seeds.createAll(rows));
    await repair();
    const stored = await listIds();
    const [created, unknown, missing] = ['created', 'unknown', 'not stored'].map((outcome) =>
      findPlaces(error, outcome),
    ) as [number[], number[], number[]];
    expect(error.outcomes[1]).toBe('identical');
    expect(created.length + unknown.length + missing.length).toBe(9_999);
    expect(created.length).toBeGreaterThanOrEqual(1_023);
    expect(unknown.length).toBeGreaterThan(0);
    expect(missing.length).toBeGreaterThan(4_000);
    expect(created.filter((id) => !stored.includes(id))).toEqual([]);
    expect(missing.filter((id) => stored.includes(id))).toEqual([]);

    const again = await seeds.createAll(rows);
    expect(again).toMatchObject({ created: 10_000 - stored.length, identical: stored.length });
  });

  it('a transaction that is lost stores nothing, though its module goes on', async () => {
    for (const sql of LOSE_AT_SIZE_9) await store.dataSource.query(sql);
    const rows = makeSeeds(3_000).map((row, index) => ({ ...row, size: index === 2_500 ? 9 : 0 }));
    let error: unknown;
    const transaction = store.dataSource.transaction(async (manager) => {
      error = await open(Seed)
        .createAll(rows, manager)
        .catch((reason: unknown) => reason);
    });
    await expect(transaction).rejects.toThrow();
    expect(await listIds()).toEqual([]);
    // A trigger of SQLite loses the transaction by an error of its own.
    if (ENGINE === 'sqlite') return;
    expect(findPlaces(error as IncompleteListError, 'created')).toHaveLength(2_048);
    expect(findPlaces(error as IncompleteListError, 'not stored')).toHaveLength(952);
  });
});

const LOSE_AT_SIZE_9 =
  ENGINE === 'postgres'
    ? [
        `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN IF NEW.size = 9 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END $$`,
        'CREATE TRIGGER lose BEFORE INSERT ON seeds FOR EACH ROW EXECUTE FUNCTION lose()',
      ]
    : [
        `CREATE TRIGGER lose BEFORE INSERT ON seeds WHEN NEW.size = 9
           BEGIN SELECT RAISE(ROLLBACK, 'lost'); END`,
      ];

/** Lets the store fail when a row of a list is stored. Resolves with a function that repairs it. */
async function breakStoreAt(index: number, rows: Seed[]): Promise<() => Promise<unknown>> {
  const { dataSource, url } = store;
  if (ENGINE === 'postgres') {
    for (const sql of LOSE_AT_SIZE_9) await dataSource.query(sql);
    Object.assign(rows[index] ?? {}, { size: 9 });
    return () => dataSource.query('DROP TRIGGER lose ON seeds');
  }
  const path = url.replace('sqlite:', '');
  const { writers } = dataSource.pools;
  const acquire = writers.acquire.bind(writers);
  let commits = 0;
  jest.spyOn(writers, 'acquire').mockImplementation(async () => {
    // A commit has 512 rows at most.
    if (++commits === Math.floor(index / 512)) await rename(path, `${path}.away`);
    return await acquire();
  });
  return async () => {
    jest.restoreAllMocks();
    await rename(`${path}.away`, path);
  };
}

// On SQLite only one transaction writes at a time.
if (ENGINE === 'postgres') {
  it('a transaction in which a row could not be locked holds the other rows', async () => {
    const { dataSource } = store;
    const seeds = open(Seed);
    const other = dataSource.createQueryRunner();
    await other.startTransaction();
    await other.manager.insert(Seed, seed(1_500));
    let error: IncompleteListError | undefined;
    await dataSource.transaction(async (manager) => {
      await manager.query(`SET LOCAL lock_timeout = '50ms'`);
      error = await getFailure(seeds.createAll(makeSeeds(3_000), manager));
    });
    await other.rollbackTransaction();
    await other.release();
    const created = findPlaces(error as IncompleteListError, 'created');
    expect(findPlaces(error as IncompleteListError, 'not stored')).toEqual(
      [...makeSeeds(3_000).keys()].filter((id) => !created.includes(id)),
    );
    expect(created).not.toContain(1_500);
    expect(created.length).toBeGreaterThanOrEqual(1_024);
    expect(await listIds()).toEqual(created);
  });
}

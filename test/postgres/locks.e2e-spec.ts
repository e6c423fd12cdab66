import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Column, Entity, type EntityManager, ForeignKey, PrimaryGeneratedColumn } from 'typeorm';
import { BatchedRepository, int64, StoreUnavailableError } from 'durable-rest';
import { Garden } from '../cases/entities.js';
import { Plant } from '../fixtures/plant.entity.js';
import { holdTimeouts, resetClocks, until } from 'durable-rest/testing';
import { openEntityStore, plant, usePlantStore } from '../support/store.js';

@Entity('sheds')
class Shed {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;

  @ForeignKey(() => Garden)
  @Column(int64())
  gardenId!: string;
}

let session: pg.Client;

afterEach(() => session.end());

const store = usePlantStore();

beforeEach(async () => {
  session = new pg.Client(store.url);
  await session.connect();
});

function ids(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

async function listOpenTransactions(): Promise<unknown[]> {
  const { rows: open } = await session.query<object>(
    "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'",
  );
  return open;
}

describe('a row that another session holds', () => {
  it('is created or not once the other is done, and the rows beside it wait for nothing', async () => {
    await session.query('BEGIN');
    await session.query("INSERT INTO plants (id, name) VALUES (250, 'theirs')");
    const creates = ids(500).map((id) => store.rows.create(plant(id)));
    const [held] = creates.splice(249, 1);
    expect(new Set(await Promise.all(creates))).toEqual(new Set(['created']));
    await session.query('COMMIT');
    expect(await held).toBe('different');
  });

  it('is changed or removed once the other is done, and the rows beside it wait for nothing', async () => {
    await Promise.all(ids(400).map((id) => store.rows.create(plant(id))));
    await session.query('BEGIN');
    await session.query('SELECT * FROM plants WHERE id % 2 = 0 FOR NO KEY UPDATE');
    const write = (id: number): Promise<boolean> =>
      id % 3 === 0 ? store.rows.remove(String(id)) : store.rows.replace(plant(id, 'new'));
    const held = Promise.all(ids(200).map((id) => write(2 * id)));
    expect(new Set(await Promise.all(ids(200).map((id) => write(2 * id - 1))))).toEqual(
      new Set([true]),
    );
    await session.query('ROLLBACK');
    expect(new Set(await held)).toEqual(new Set([true]));
    expect(await store.plants.countBy({ name: 'new' })).toBe(267);
    expect(await store.plants.count()).toBe(267);
  });

  it('is removed, however soon after the removal has begun the other is done', async () => {
    await Promise.all(ids(200).map((id) => store.rows.create(plant(id))));
    for (const id of ids(200)) {
      await session.query('BEGIN');
      await session.query('SELECT 1 FROM plants WHERE id = $1 FOR KEY SHARE', [id]);
      const removal = store.rows.remove(String(id));
      // The other ends while the statements of the removal are executed, and each time at another one.
      for (let count = 0; count < id % 8; count++) await session.query('SELECT 1');
      await session.query('ROLLBACK');
      expect([id, await removal]).toEqual([id, true]);
    }
  });

  it('is changed in the order of the calls once the other is done', async () => {
    await session.query('BEGIN');
    await session.query("INSERT INTO plants (id, name) VALUES (2, 'theirs')");
    // The first one has a batch for itself, and the others share the next one.
    void store.rows.create(plant(1));
    const held = [store.rows.create(plant(2)), store.rows.replace(plant(2, 'new'))];
    expect(await store.rows.create(plant(3))).toBe('created');
    await session.query('ROLLBACK');
    expect(await Promise.all(held)).toEqual(['created', true]);
    expect(await store.rows.find('2')).toEqual(plant(2, 'new'));
  });

  it('is changed while a transaction refers to it, and not removed', async () => {
    await Promise.all([1, 2].map((id) => store.rows.create(plant(id))));
    await session.query('CREATE TABLE labels (plant bigint REFERENCES plants (id))');
    await session.query('BEGIN');
    await session.query('INSERT INTO labels VALUES (1), (2)');
    expect(await store.rows.replace(plant(1, 'new'))).toBe(true);
    expect(await store.rows.change('1', (row) => row && { ...row, tag: 't' })).toMatchObject({
      tag: 't',
    });
    const removed = store.rows.remove('1');
    expect(await store.rows.replace(plant(2, 'new'))).toBe(true);
    await session.query('DELETE FROM labels WHERE plant = 1');
    await session.query('COMMIT');
    expect(await removed).toBe(true);
    await expect(store.rows.remove('2')).rejects.toMatchObject({ kind: 'referenced' });
  });
});

it('rows of a batch are created or not once a deadlock with another session has ended', async () => {
  // Once it has inserted the first row, the batch waits until the other session waits for that row.
  await session.query('CREATE SEQUENCE attempts');
  await session.query(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('attempts') = 1 THEN
      PERFORM set_config('deadlock_timeout', '1ms', true);
      WHILE NOT EXISTS (
        SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))
      ) LOOP
        PERFORM pg_sleep(0.01);
      END LOOP;
    END IF;
    RETURN NEW;
  END $$`);
  await session.query(`CREATE TRIGGER wait BEFORE INSERT ON plants
    FOR EACH ROW WHEN (NEW.name = 'plant 2') EXECUTE FUNCTION wait()`);
  await session.query('BEGIN');
  await session.query("INSERT INTO plants (id, name) VALUES (2, 'theirs')");
  // The first one has a batch for itself, and the others share the next one.
  const [alone, ...together] = [3, 1, 2].map((id) => store.rows.create(plant(id)));
  await until(async () => {
    const { rowCount } = await session.query('SELECT FROM attempts WHERE is_called');
    return rowCount === 1;
  });
  // The server ends the transaction of either of them.
  const outcome = await session.query("INSERT INTO plants (id, name) VALUES (1, 'theirs')").then(
    () => 'different',
    () => 'created',
  );
  await session.query('COMMIT');
  expect(await alone).toBe('created');
  expect(await Promise.all(together)).toEqual([outcome, outcome]);
});

it('rows with a generated key wait for no row that another one of them refers to', async () => {
  const opened = await openEntityStore([Garden, Shed]);
  const { dataSource, url } = opened;
  const gardens = dataSource.getRepository(Garden);
  const sheds = new BatchedRepository(dataSource.getRepository(Shed));
  await gardens.insert([{ id: '1' }, { id: '2' }]);
  const other = new pg.Client(url);
  await other.connect();
  await other.query('BEGIN');
  await other.query('SELECT * FROM gardens WHERE id = 1 FOR UPDATE');
  const held = sheds.add({ gardenId: '1' });
  const free = ids(20).map(() => sheds.add({ gardenId: '2' }));
  expect(await Promise.all(free)).toHaveLength(20);
  await other.query('COMMIT');
  expect(await held).toMatchObject({ gardenId: '1' });
  await other.end();
  await opened.close();
});

it('reads wait for a lock on the whole table, as a vacuum takes it', async () => {
  await store.rows.create(plant(1));
  await session.query('BEGIN');
  await session.query('LOCK TABLE plants IN ACCESS EXCLUSIVE MODE');
  const reads = [
    store.rows.find('1'),
    store.rows.list({ limit: 1 }),
    store.rows.page({ limit: 1 }),
  ];
  // More than a batch waits for the lock of a row.
  await session.query('SELECT pg_sleep(0.2)');
  await session.query('COMMIT');
  expect(await Promise.all(reads)).toMatchObject([
    plant(1),
    { rows: [plant(1)] },
    { json: { text: '[{"id":1,"name":"plant 1"}]' } },
  ]);
});

it('a row that 24 clients of three replicas change starves none of them', async () => {
  await store.rows.create(plant(1, '0'));
  // Each commit takes as long as the flush of a slow disk.
  await session.query(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN NULL; END $$`);
  await session.query(`CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON plants
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`);
  const others = await Promise.all([1, 2].map(() => openEntityStore([Plant], { url: store.url })));
  const replicas = [store, ...others].map(
    ({ dataSource }) => new BatchedRepository(dataSource.getRepository(Plant)),
  );
  const countUp = async (replica: BatchedRepository<Plant>): Promise<void> => {
    for (let round = 0; round < 8; round++) {
      await replica.change('1', (row) => row && { ...row, name: String(Number(row.name) + 1) });
    }
  };
  await Promise.all(ids(8).flatMap(() => replicas.map(countUp)));
  expect(await store.rows.find('1')).toMatchObject({ name: String(24 * 8) });
  for (const other of others) await other.close();
});

describe('transactions of modules', () => {
  it('end on the server too, if their program hangs', async () => {
    const limited = await openEntityStore([Plant], {
      url: store.url,
      TRANSACTION_TIMEOUT_MS: 600_000,
    });
    const { dataSource } = limited;
    const [limit] = await dataSource.query<object[]>(
      `SELECT current_setting('server_version_num')::int >= 170000 AS "isKnown",
              current_setting('transaction_timeout', true) = '600500ms' AS "isSet"`,
    );
    expect([
      { isKnown: true, isSet: true },
      { isKnown: false, isSet: null },
    ]).toContainEqual(limit);
    const runner = dataSource.createQueryRunner();
    await runner.setTimeLimit(100);
    // The program's own limit never ends.
    holdTimeouts();
    await runner.startTransaction();
    // On a busy machine, the server may end even this.
    await runner.manager.insert(Plant, plant(1)).catch(() => undefined);
    resetClocks();
    await until(async () => (await listOpenTransactions()).length === 0);
    await expect(runner.query('SELECT 1')).rejects.toBeInstanceOf(StoreUnavailableError);
    await runner.release();
    await limited.close();
  });

  it('cannot use up the connections of rows in groups', async () => {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const open = ids(4).map((id) =>
      store.dataSource.transaction(async (manager) => {
        await manager.insert(Plant, plant(id));
        await ended;
      }),
    );
    expect(await store.rows.create(plant(10))).toBe('created');
    expect(await store.rows.find('10')).toEqual(plant(10));
    await store.dataSource.probeWrite();
    end();
    await Promise.all(open);
  });

  it.each([
    ['is not free in time', "SET LOCAL lock_timeout = '1ms'", 'LOCK TABLE plants'],
    ['is not free at once', 'SELECT 1', 'LOCK TABLE plants NOWAIT'],
  ])('fail for want of a lock that %s, and not as a bug', async (_, prepare, lock) => {
    await session.query('BEGIN; LOCK TABLE plants');
    const run = store.dataSource.transaction(async (manager) => {
      await manager.query(prepare);
      await manager.query(lock);
    });
    await expect(run).rejects.toBeInstanceOf(StoreUnavailableError);
    await session.query('ROLLBACK');
  });

  it('take no longer for a statement than the default, or what the module says', async () => {
    await session.query('SELECT pg_advisory_lock(1)');
    const wait = (limit: number): Promise<unknown> =>
      store.dataSource.withTimeLimit(limit, (manager) =>
        manager.query('SELECT pg_advisory_xact_lock(1)'),
      );
    const long = wait(600_000);
    await expect(wait(100)).rejects.toBeInstanceOf(StoreUnavailableError);
    await session.query('SELECT pg_advisory_unlock(1)');
    await long;
  });

  it.each<[string, (manager: EntityManager) => Promise<unknown>]>([
    ['an insert', (manager) => manager.insert(Plant, plant(1))],
    ['a query', (manager) => manager.query('SELECT 1 / 0')],
  ])('are rejected when they caught the failure of a statement: %s', async (_, fail) => {
    const caught: unknown[] = [];
    const done = store.dataSource.transaction(async (manager) => {
      await manager.insert(Plant, plant(1));
      await fail(manager).catch((error: unknown) => caught.push(error));
    });
    await expect(done).rejects.toThrow(/A statement of this transaction has failed/);
    expect(caught).toHaveLength(1);
    expect(await store.plants.count()).toBe(0);
  });
});

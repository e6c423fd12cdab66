import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  Column,
  Entity,
  type EntityManager,
  type EntitySubscriberInterface,
  Index,
  PrimaryColumn,
} from 'typeorm';
import { BatchedRepository, int64, text } from 'durable-rest';
import { ENGINE } from 'durable-rest/testing';
import { useEntityStore } from '../support/store.js';

/** In milliseconds. Calls that wait for each other would wait for ever. */
const DEADLINE_MS = 60_000;

@Entity('things')
class Thing {
  @PrimaryColumn(int64()) id!: string;

  @Index({ unique: true })
  @Column(text())
  name!: string;
}

@Entity('notes')
class Note {
  @PrimaryColumn({ type: 'integer' }) id!: number;
}

const store = useEntityStore([Thing, Note]);
let things: BatchedRepository<Thing>;

beforeEach(async () => {
  things = new BatchedRepository(store.dataSource.getRepository(Thing));
  await things.create({ id: '0', name: 'taken' });
});

/** A call with the manager of a transaction. The number is the key of its row. */
type Call = (manager: EntityManager, number: number) => Promise<unknown>;

const create: Call = (manager, number) =>
  things.create({ id: String(number), name: `thing ${number}` }, manager);

const refuse: Call = (manager, number) =>
  things.create({ id: String(number), name: 'taken' }, manager);

const save: Call = (manager, number) => manager.save(Note, { id: number });

/** The calls that store a row. */
const STORING: Record<string, Call> = {
  'create()': create,
  'create(), and change() of the row': async (manager, number) => {
    await create(manager, number);
    await things.change(String(number), (thing) => thing, manager);
  },
  'save()': save,
  'insert()': (manager, number) => manager.insert(Note, { id: number }),
  'query()': (manager, number) => manager.query(`INSERT INTO notes VALUES (${number})`),
  'a nested transaction with create()': (manager, number) =>
    manager.transaction((nested) => create(nested, number)),
  'a nested transaction with save()': (manager, number) =>
    manager.transaction((nested) => save(nested, number)),
  'a nested transaction with a refused call that is caught': (manager, number) =>
    manager.transaction((nested) =>
      Promise.allSettled([refuse(nested, number), save(nested, number)]),
    ),
  'nested transactions in a nested one': (manager, number) =>
    manager.transaction((nested) =>
      Promise.all([
        nested.transaction((inner) => save(inner, number)),
        nested.transaction((inner) => Promise.allSettled([refuse(inner, number)])),
      ]),
    ),
};

/** The calls that are refused, and store nothing. */
const REFUSED: Record<string, Call> = {
  'create() with a taken name': refuse,
  'replace() with a taken name': (manager) =>
    things.replace({ id: '1', name: 'taken' }, undefined, manager),
  'replace() whose check throws': (manager) =>
    things.replace({ id: '0', name: 'other' }, throwError, manager),
  'change() to a taken name': (manager) =>
    things.change('1', () => ({ id: '1', name: 'taken' }), manager),
  'change() whose function throws': (manager) => things.change('0', throwError, manager),
};

function throwError(): never {
  throw new Error('refused');
}

async function listStored(): Promise<number[]> {
  const { manager } = store.dataSource;
  const rows = [...(await manager.find(Thing)), ...(await manager.find(Note))];
  return rows.map(({ id }) => Number(id));
}

describe('a refused call of a repository undoes nothing but itself', () => {
  const cases = Object.keys(STORING).flatMap((storing) =>
    Object.keys(REFUSED).map((refused) => [refused, storing] as const),
  );

  it.each(cases)(
    '%s, beside %s',
    async (refusedName, storingName) => {
      await things.create({ id: '1', name: 'own' });
      const refused: Call = REFUSED[refusedName] ?? throwError;
      const storing: Call = STORING[storingName] ?? throwError;
      await store.dataSource.transaction(async (manager) => {
        const outcomes = await Promise.allSettled([
          storing(manager, 11),
          refused(manager, 12),
          storing(manager, 13),
        ]);
        expect(outcomes.map(({ status }) => status)).toEqual([
          'fulfilled',
          'rejected',
          'fulfilled',
        ]);
      });
      expect((await listStored()).sort((one, other) => one - other)).toEqual([0, 1, 11, 13]);
    },
    DEADLINE_MS,
  );
});

it(
  'all kinds of calls beside each other are stored',
  async () => {
    const calls = [...Object.values(STORING), ...Object.values(STORING)];
    await store.dataSource.transaction((manager) =>
      Promise.all(calls.map((call, index) => call(manager, index + 1))),
    );
    expect(await listStored()).toHaveLength(1 + calls.length);
  },
  DEADLINE_MS,
);

it(
  'a nested transaction that is rolled back undoes nothing of those beside it',
  async () => {
    const undo: Call = (manager, number) =>
      manager.transaction(async (nested) => {
        await Promise.all([create(nested, number), save(nested, number + 1)]);
        await nested.transaction((inner) => save(inner, number + 2));
        throw new Error('undone');
      });
    const keep: Call = (manager, number) =>
      manager.transaction(async (nested) => {
        await create(nested, number);
        await Promise.allSettled([undo(nested, 100), refuse(nested, 200)]);
        await save(nested, number + 1);
      });
    await store.dataSource.transaction(async (manager) => {
      await Promise.allSettled([
        undo(manager, 300),
        keep(manager, 11),
        undo(manager, 400),
        keep(manager, 21),
      ]);
    });
    expect((await listStored()).sort((one, other) => one - other)).toEqual([0, 11, 12, 21, 22]);
  },
  DEADLINE_MS,
);

it(
  'a transaction that fails ends after those that are nested in it',
  async () => {
    const ended: string[] = [];
    const transaction = store.dataSource.transaction((manager) => {
      const nested = manager.transaction(async (inner) => {
        await save(inner, 1);
        await create(inner, 2);
      });
      void nested.then(
        () => ended.push('nested'),
        () => ended.push('nested, with a failure'),
      );
      throw new Error('undone');
    });
    await expect(transaction.finally(() => ended.push('outer'))).rejects.toThrow('undone');
    expect(ended).toEqual(['nested', 'outer']);
    expect(await listStored()).toEqual([0]);
  },
  DEADLINE_MS,
);

it('a repository refuses a manager without a transaction', async () => {
  const runner = store.dataSource.createQueryRunner();
  for (const manager of [store.dataSource.manager, runner.manager]) {
    await expect(create(manager, 1)).rejects.toThrow('This manager has no transaction');
  }
  await runner.startTransaction();
  await create(runner.manager, 2);
  await runner.commitTransaction();
  await expect(create(runner.manager, 3)).rejects.toThrow('This manager has no transaction');
  await runner.release();
  expect((await listStored()).sort()).toEqual([0, 2]);
});

it(
  'transactions of two managers that are nested in each other do not wait for each other',
  async () => {
    const { dataSource } = store;
    // A second writer would wait for the first one on SQLite.
    const readNested = (manager: EntityManager): Promise<number> =>
      manager.transaction((nested) => nested.count(Note));
    await dataSource.transaction((writing) =>
      writing.transaction(async (nested) => {
        const runner = dataSource.createQueryRunner();
        await readNested(nested).finally(() => runner.release());
        await save(nested, 1);
        await readNested(writing);
      }),
    );
    expect(await listStored()).toEqual([0, 1]);
  },
  DEADLINE_MS,
);

it.each(['beforeQuery', 'afterQuery', 'beforeInsert', 'afterInsert'] as const)(
  'a subscriber may use a repository and nested transactions in %s',
  async (event) => {
    const numbers = [101, 102];
    const subscriber: EntitySubscriberInterface = {
      listenTo: () => Note,
      [event]: async ({
        manager,
        query = 'INSERT',
      }: {
        manager: EntityManager;
        query?: string;
      }) => {
        if (!query.startsWith('INSERT')) return;
        const number = numbers.pop();
        if (number === undefined) return;
        await Promise.allSettled([
          create(manager, number),
          refuse(manager, number + 100),
          manager.transaction((nested) => create(nested, number + 200)),
        ]);
      },
    };
    store.dataSource.subscribers.push(subscriber);
    await store.dataSource.transaction((manager) =>
      Promise.all([save(manager, 1), create(manager, 2), save(manager, 3)]),
    );
    const stored = await listStored();
    expect(stored.sort((one, other) => one - other)).toEqual([0, 1, 2, 3, 101, 102, 301, 302]);
  },
  DEADLINE_MS,
);

describe('a transaction that was lost is rejected, and nothing of it is stored:', () => {
  const lost: [string, Call][] =
    ENGINE === 'sqlite'
      ? [
          [
            'by a row of a repository',
            (manager) => things.create({ id: '9', name: 'bad' }, manager),
          ],
          ['by a row of TypeORM', (manager) => manager.insert(Thing, { id: '9', name: 'bad' })],
        ]
      : [
          [
            'by a statement that failed',
            (manager) => manager.insert(Thing, { id: '0', name: 'x' }),
          ],
        ];

  it.each(lost)(
    '%s',
    async (_, lose) => {
      if (ENGINE === 'sqlite') {
        await store.dataSource.query(
          `CREATE TRIGGER lose BEFORE INSERT ON things WHEN NEW.name = 'bad'
           BEGIN SELECT RAISE(ROLLBACK, 'bad'); END`,
        );
      }
      const transaction = store.dataSource.transaction((manager) =>
        Promise.allSettled([
          save(manager, 1),
          create(manager, 2),
          lose(manager, 9),
          save(manager, 3),
        ]),
      );
      await expect(transaction).rejects.toThrow();
      expect(await listStored()).toEqual([0]);
    },
    DEADLINE_MS,
  );
});

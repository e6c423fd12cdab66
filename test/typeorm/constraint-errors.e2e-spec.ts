import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  Column,
  Entity,
  Exclusion,
  ForeignKey,
  PrimaryColumn,
  QueryFailedError,
  type Repository,
  Unique,
} from 'typeorm';
import { inspect } from 'node:util';
import {
  BatchedRepository,
  ConstraintError,
  int64,
  nullable,
  text,
  toApiError,
} from 'durable-rest';
import { useEntityStore } from '../support/store.js';
import { ENGINE } from 'durable-rest/testing';

// A violated constraint, as the code of TypeORM's documentation meets it.

@Entity('accounts')
@Unique('accounts_email', ['email'])
class Account {
  @PrimaryColumn(int64())
  id!: string;

  @Column(text())
  email!: string;

  @ForeignKey(() => Account)
  @Column(nullable(int64()))
  parentId!: string | null;
}

@Entity('rooms')
@Exclusion('one_guest', 'USING btree ("guest" WITH =)')
class Room {
  @PrimaryColumn(int64())
  id!: string;

  @Column(text())
  guest!: string;
}

const store = useEntityStore([Account, ...(ENGINE === 'postgres' ? [Room] : [])]);
let accounts: Repository<Account>;
let batched: BatchedRepository<Account>;

/** The codes of the driver. */
const CODES =
  ENGINE === 'postgres'
    ? { unique: '23505', 'foreign key': '23503' }
    : { unique: 'SQLITE_CONSTRAINT', 'foreign key': 'SQLITE_CONSTRAINT' };

function account(id: number, email = `${id}@secret.example`): Account {
  return { id: String(id), email, parentId: null };
}

beforeEach(async () => {
  accounts = store.dataSource.getRepository(Account);
  batched = new BatchedRepository(accounts);
  await accounts.save(account(1));
});

const orphan = { ...account(2), parentId: '404' };

/** Each way to break a constraint. */
const WRITES: [how: string, kind: keyof typeof CODES, write: () => Promise<unknown>][] = [
  ['insert()', 'unique', () => accounts.insert(account(2, '1@secret.example'))],
  ['save()', 'foreign key', () => accounts.save(orphan)],
  [
    'a statement',
    'unique',
    () => store.dataSource.query(`INSERT INTO accounts (id, email) VALUES (1, 'x')`),
  ],
  ['a row of a batch', 'unique', () => batched.create(account(2, '1@secret.example'))],
  ['a row of a batch with a missing parent', 'foreign key', () => batched.create(orphan)],
  [
    'a row of a transaction',
    'unique',
    () =>
      store.dataSource.transaction((manager) =>
        batched.create(account(2, '1@secret.example'), manager),
      ),
  ],
];

it.each(WRITES)('%s that breaks a %s constraint fails as in TypeORM', async (_, kind, write) => {
  // Other callers share the batch.
  const others = [10, 11, 12].map((id) => batched.create(account(id)));
  const [outcome] = await Promise.allSettled([write(), ...others]);
  const error = (outcome as PromiseRejectedResult).reason as ConstraintError;
  expect(error).toBeInstanceOf(QueryFailedError);
  expect(error).toBeInstanceOf(ConstraintError);
  expect(error).toMatchObject({
    name: 'ConstraintError',
    kind,
    table: 'accounts',
    code: CODES[kind],
  });
  expect(error.driverError).toMatchObject({ code: CODES[kind] });
  expect(error.stack).toContain(error.message);
  const everything = inspect(error, { depth: Infinity, showHidden: true }) + JSON.stringify(error);
  expect(everything).not.toContain('secret');
  expect(await Promise.all(others)).toHaveLength(3);
});

if (ENGINE === 'postgres') {
  it('a row that breaks an exclusion constraint is a conflict', async () => {
    const rooms = new BatchedRepository(store.dataSource.getRepository(Room));
    await rooms.create({ id: '1', guest: 'secret' });
    const violation = {
      ...{ name: 'ConstraintError', kind: 'exclusion', code: '23P01', table: 'rooms' },
      ...{ properties: ['guest'], constraint: 'one_guest' },
    };
    const taken = rooms.create({ id: '2', guest: 'secret' });
    const others = [3, 4].map((id) => rooms.create({ id: String(id), guest: `guest ${id}` }));
    await expect(taken).rejects.toMatchObject(violation);
    expect(await Promise.all(others)).toEqual(['created', 'created']);
    const again = store.dataSource.getRepository(Room).insert({ id: '2', guest: 'secret' });
    const error = await again.catch((reason: unknown) => reason as ConstraintError);
    expect(error).toMatchObject(violation);
    expect(toApiError(error)?.getStatus()).toBe(409);
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('secret');
  });
}

it('a row may be inserted, or else read, as in every tutorial', async () => {
  async function findOrCreate(id: number, email: string): Promise<Account | null> {
    try {
      await accounts.insert(account(id, email));
    } catch (error) {
      if (!(error instanceof QueryFailedError)) throw error;
      const { code } = error.driverError as unknown as { code: string };
      if (code !== CODES.unique) throw error;
    }
    return await accounts.findOneBy({ email });
  }
  expect(await findOrCreate(2, '1@secret.example')).toMatchObject({ id: '1' });
  expect(await findOrCreate(3, 'new')).toMatchObject({ id: '3' });
});

describe('an error without one of a driver', () => {
  it('is of the same class', () => {
    const error = new ConstraintError({
      kind: 'referenced',
      table: 'accounts',
      properties: ['id'],
    });
    expect(error).toBeInstanceOf(QueryFailedError);
    expect(error.driverError).toBeInstanceOf(Error);
    expect(error.message).toBe('A row breaks a referenced constraint (id)');
    expect(error.original).toBeUndefined();
  });
});

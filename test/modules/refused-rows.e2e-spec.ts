import { describe, expect, it } from '@jest/globals';
import {
  Check,
  Column,
  Entity,
  ForeignKey,
  Index,
  JoinColumn,
  ManyToOne,
  type ObjectLiteral,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  VirtualColumn,
} from 'typeorm';
import {
  BatchedRepository,
  boolean,
  bytes,
  decimal,
  type Decimal,
  inRange,
  int32,
  int64,
  nullable,
  REMOVE,
  type RowInput,
  text,
} from 'durable-rest';
import { ENGINE, resetClocks, stopClock } from 'durable-rest/testing';
import { Garden, Numbered } from '../cases/entities.js';
import { useEntityStore } from '../support/store.js';

@Entity('beds')
class Bed {
  @PrimaryColumn(int64())
  id!: string;

  @Column(nullable(int32()))
  size!: number | null;

  @Column(nullable(int64()))
  number!: string | null;

  @Column(nullable(decimal(12, 2)))
  price!: Decimal | null;

  @Column(nullable(boolean()))
  isSunny!: boolean | null;

  @Column(nullable(text()))
  name!: string | null;

  @Column(nullable(bytes()))
  plan?: Buffer | null;
}

@Entity('trees')
@Check('trees_have_a_height', 'height >= 0')
class Tree {
  @PrimaryColumn(int64())
  id!: string;

  @Index({ unique: true })
  @Column(text())
  name!: string;

  @Column(int32())
  height!: number;

  @ForeignKey(() => Garden)
  @Column(int64())
  gardenId!: string;
}

/** A table of a module, whose foreign key is checked at the commit. */
@Entity('labels')
class Label {
  @PrimaryColumn({ type: 'integer' })
  id!: number;

  @ManyToOne(() => Tree, { deferrable: 'INITIALLY DEFERRED' })
  @JoinColumn({ name: 'treeId' })
  tree!: Tree;
}

@Entity('pictures')
class Picture {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;

  @Index({ unique: true })
  @Column(text())
  name!: string;

  @Column(bytes())
  image!: Buffer;
}

const GENERATED = { type: 'text', asExpression: `'x'`, generatedType: 'STORED' } as const;

@Entity('virtual')
class Virtual {
  @PrimaryColumn(int64())
  id!: string;

  @VirtualColumn({ type: 'integer', query: () => 'SELECT 1' })
  rank!: number;
}

@Entity('generated')
class Generated {
  @PrimaryColumn(int64())
  id!: string;

  @Column({ ...GENERATED, nullable: true })
  loud!: string | null;
}

@Entity('unwritten')
class Unwritten {
  @PrimaryColumn(int64())
  id!: string;

  @Column({ ...nullable(text()), insert: false })
  state!: string | null;
}

const store = useEntityStore([
  Garden,
  Bed,
  Label,
  Numbered,
  Picture,
  Tree,
  Virtual,
  Generated,
  Unwritten,
]);

function openTrees(): BatchedRepository<Tree> {
  return new BatchedRepository(store.dataSource.getRepository(Tree));
}

function tree(id: number, more: Partial<Tree> = {}): RowInput<Tree> {
  return { id: BigInt(id), name: `tree ${id}`, height: 1, gardenId: '1', ...more };
}

/**
 * Makes the engine refuse trees named `bad`.
 *
 * @param code of the error on PostgreSQL
 */
async function createTrigger(action: string, code = 'P0001'): Promise<void> {
  const { dataSource } = store;
  if (ENGINE === 'sqlite') {
    await dataSource.query(
      `CREATE TRIGGER refuse BEFORE INSERT ON trees WHEN NEW.name = 'bad'
       BEGIN SELECT RAISE(${action}, 'no bad names'); END`,
    );
    return;
  }
  await dataSource.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
     IF NEW.name = 'bad' THEN RAISE EXCEPTION 'no bad names' USING ERRCODE = '${code}'; END IF;
     RETURN NEW; END $$`,
  );
  const kind = action === 'ROLLBACK' ? 'CONSTRAINT TRIGGER refuse AFTER' : 'TRIGGER refuse BEFORE';
  const timing = action === 'ROLLBACK' ? 'INITIALLY DEFERRED' : '';
  await dataSource.query(
    `CREATE ${kind} INSERT ON trees ${timing} FOR EACH ROW EXECUTE FUNCTION refuse()`,
  );
}

/** A module may throw anything. */
const A_TEXT: unknown = 'a text';

type Trees = BatchedRepository<Tree>;

describe('a change that fails, fails alone', () => {
  const plain = (): Promise<void> => Promise.resolve();

  type Case = [string, () => Promise<void>, (trees: Trees) => Promise<unknown>, unknown];

  it.each<Case>([
    [
      'it refers to a missing row',
      plain,
      (trees) => trees.create(tree(99, { gardenId: '404' })),
      { kind: 'foreign key', properties: ['gardenId'] },
    ],
    [
      'a unique value is taken',
      plain,
      (trees) => trees.create(tree(99, { name: 'tree 1' })),
      { kind: 'unique', properties: ['name'] },
    ],
    ['a CHECK fails', plain, (trees) => trees.create(tree(99, { height: -1 })), { kind: 'check' }],
    [
      'a trigger raises',
      () => createTrigger('ABORT'),
      (trees) => trees.create(tree(99, { name: 'bad' })),
      { message: expect.stringContaining('no bad names') },
    ],
    ...['MY001', '40001', '57014'].map((code): Case => [
      `a trigger raises ${code}`,
      () => createTrigger('ABORT', code),
      (trees) => trees.create(tree(99, { name: 'bad' })),
      { message: expect.stringContaining('no bad names') },
    ]),
    [
      'a trigger ends the transaction',
      () => createTrigger('ROLLBACK'),
      (trees) => trees.create(tree(99, { name: 'bad' })),
      { message: expect.stringContaining('no bad names') },
    ],
    [
      'a row refers to it, which is checked at the commit',
      plain,
      (trees) => trees.remove('1'),
      { kind: 'referenced' },
    ],
    [
      'a row refers to it that its change removes',
      plain,
      (trees) => trees.change('1', () => REMOVE),
      { kind: 'referenced' },
    ],
    [
      'JSON cannot hold a value',
      plain,
      (trees) => trees.create(tree(99, { name: { deep: 1n } as never })),
      { name: 'RangeError' },
    ],
    [
      'its function throws a text',
      plain,
      (trees) =>
        trees.change('1', () => {
          throw A_TEXT;
        }),
      'a text',
    ],
  ])('because %s', async (_, prepare, fail, reason) => {
    const { dataSource } = store;
    await dataSource.getRepository(Garden).insert({ id: '1' });
    const trees = openTrees();
    await trees.create(tree(1));
    await dataSource.getRepository(Label).insert({ id: 1, tree: { id: '1' } });
    await prepare();
    const ids = Array.from({ length: 20 }, (__, index) => 2 + index);
    const create = (id: number): Promise<string> => trees.create(tree(id));
    const failing = fail(trees);
    const [failure, ...others] = await Promise.allSettled([failing, ...ids.map(create)]);
    expect(failure).toMatchObject({ status: 'rejected', reason });
    expect(others).toEqual(ids.map(() => ({ status: 'fulfilled', value: 'created' })));
    const { rows } = await trees.list({ limit: 100 });
    expect(rows.map(({ id }) => Number(id))).toEqual([1, ...ids]);
  });
});

it('an addition with bytes that fails, fails alone, and the others are stored once', async () => {
  const pictures = new BatchedRepository(store.dataSource.getRepository(Picture));
  const image = Buffer.from([1]);
  await pictures.add({ name: '7', image });
  const names = Array.from({ length: 20 }, (_, index) => String(index));
  const outcomes = await Promise.allSettled(names.map((name) => pictures.add({ name, image })));
  expect(outcomes).toMatchObject(
    names.map((name) => (name === '7' ? { reason: { kind: 'unique' } } : { value: { name } })),
  );
});

describe('a row that a trigger leaves out is not reported as stored:', () => {
  const BAD = { name: 'bad' };

  /** Makes the engine leave out, without an error, what would create, change or remove `bad`. */
  async function createTrigger(event: string, table = 'trees'): Promise<void> {
    const { dataSource } = store;
    const row = event === 'DELETE' ? 'OLD' : 'NEW';
    if (ENGINE === 'sqlite') {
      await dataSource.query(
        `CREATE TRIGGER omit BEFORE ${event} ON ${table} WHEN ${row}.name = 'bad'
         BEGIN SELECT RAISE(IGNORE); END`,
      );
      return;
    }
    await dataSource.query(
      `CREATE FUNCTION omit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF ${row}.name = 'bad' THEN RETURN NULL; END IF; RETURN ${row}; END $$`,
    );
    await dataSource.query(
      `CREATE TRIGGER omit BEFORE ${event} ON ${table} FOR EACH ROW EXECUTE FUNCTION omit()`,
    );
  }

  it.each<[string, string, (trees: Trees) => Promise<unknown>]>([
    ['create()', 'INSERT', (trees) => trees.create(tree(99, BAD))],
    ['replace()', 'UPDATE', (trees) => trees.replace(tree(1, BAD))],
    ['change()', 'UPDATE', (trees) => trees.change('1', (row) => ({ ...(row as Tree), ...BAD }))],
    ['remove()', 'DELETE', (trees) => trees.remove('2')],
    ['change() to REMOVE', 'DELETE', (trees) => trees.change('2', () => REMOVE)],
  ])('%s', async (_, event, change) => {
    await store.dataSource.getRepository(Garden).insert({ id: '1' });
    const trees = openTrees();
    await trees.createAll([tree(1), ...(event === 'DELETE' ? [tree(2, BAD)] : [])]);
    await createTrigger(event);
    const { rows: before } = await trees.list({ limit: 100 });
    const ids = Array.from({ length: 20 }, (__, index) => 3 + index);
    const create = (id: number): Promise<string> => trees.create(tree(id));
    const [failure, ...others] = await Promise.allSettled([change(trees), ...ids.map(create)]);
    const message = 'A trigger of trees has left the row out: nothing is stored';
    expect(failure).toMatchObject({ status: 'rejected', reason: { message } });
    expect(others).toEqual(ids.map(() => ({ status: 'fulfilled', value: 'created' })));
    const { rows } = await trees.list({ limit: 100 });
    expect(rows).toHaveLength(before.length + ids.length);
    expect(rows.slice(0, before.length)).toEqual(before);
  });

  it('add()', async () => {
    await createTrigger('INSERT', 'numbers');
    const numbers = new BatchedRepository(store.dataSource.getRepository(Numbered));
    const names = Array.from({ length: 20 }, (_, index) => (index === 7 ? 'bad' : `${index}`));
    const outcomes = await Promise.allSettled(names.map((name) => numbers.add({ name })));
    expect(outcomes).toMatchObject(
      names.map((name) =>
        name === 'bad'
          ? { reason: { message: expect.stringContaining('has left the row out') } }
          : { value: { name } },
      ),
    );
    const { rows } = await numbers.list({ limit: 100 });
    expect(rows.map(({ name }) => name)).toEqual(names.filter((name) => name !== 'bad'));
  });
});

it('a check that returns a promise is refused, and nothing is changed', async () => {
  await store.dataSource.getRepository(Garden).insert({ id: '1' });
  const trees = openTrees();
  await trees.create(tree(1));
  const check = (): unknown => Promise.reject(new Error('too late'));
  await expect(trees.replace(tree(1, { height: 2 }), check)).rejects.toThrow(TypeError);
  await expect(trees.remove('1', check)).rejects.toThrow(TypeError);
  expect(await trees.find('1')).toMatchObject({ height: 1 });
});

describe('changes of one row', () => {
  async function createTree(): Promise<BatchedRepository<Tree>> {
    await store.dataSource.getRepository(Garden).insert({ id: '1' });
    const trees = openTrees();
    await trees.create(tree(1, { height: 0 }));
    return trees;
  }

  const COUNT = 100;

  /** Changes the height of the tree in many steps: each must fit to the one before. */
  async function grow(trees: BatchedRepository<Tree>): Promise<PromiseSettledResult<unknown>[]> {
    const steps = Array.from({ length: COUNT }, (_, step) =>
      trees.change('1', (row) => ({
        ...(row as Tree),
        height: (row?.height ?? 0) + (step === 50 ? -99 : 1),
      })),
    );
    return await Promise.allSettled(steps);
  }

  const expected = Array.from({ length: COUNT }, (_, step) =>
    step === 50
      ? { reason: { kind: 'check' } }
      : { value: { height: step < 50 ? step + 1 : step } },
  );

  it('see each other in their order, and one that breaks a rule fails alone', async () => {
    const trees = await createTree();
    expect(await grow(trees)).toMatchObject(expected);
    expect(await trees.find('1')).toMatchObject({ height: COUNT - 1 });
  });

  it('see what a trigger makes of the row after each', async () => {
    const trees = await createTree();
    const { dataSource } = store;
    if (ENGINE === 'sqlite') {
      await dataSource.query(
        `CREATE TRIGGER rename AFTER UPDATE OF height ON trees
         BEGIN UPDATE trees SET name = NEW.name || '+' WHERE id = NEW.id; END`,
      );
    } else {
      await dataSource.query(
        `CREATE FUNCTION rename() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN NEW.name := NEW.name || '+'; RETURN NEW; END $$`,
      );
      await dataSource.query(
        'CREATE TRIGGER rename BEFORE UPDATE ON trees FOR EACH ROW EXECUTE FUNCTION rename()',
      );
    }
    await grow(trees);
    expect(await trees.find('1')).toMatchObject({ name: `tree 1${'+'.repeat(COUNT - 1)}` });
  });

  it('are made in their order also if the first of them is too much for its batch', async () => {
    // However slow this machine is, no change waits too long.
    stopClock();
    const { dataSource } = store;
    const numbers = new BatchedRepository(dataSource.getRepository(Numbered));
    const ids = Array.from({ length: 300 }, (_, index) => String(index + 1));
    await numbers.createAll(ids.map((id) => ({ id, name: id })));
    await dataSource.query('CREATE UNIQUE INDEX starts ON numbers (substr(name, 1, 5))');
    const long = 'x'.repeat(130 * 1024);
    const outcomes = await Promise.allSettled([
      ...ids.map((id) => numbers.change(id, () => ({ id, name: `${id.padEnd(4)} ${long}` }))),
      numbers.replace({ id: '140', name: 'last' }),
      // The index refuses this, or else the change of 1.
      numbers.create({ id: '404', name: '1'.padEnd(5) }),
    ]);
    expect((await numbers.find('140'))?.name.slice(0, 4)).toBe('last');
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    resetClocks();
  });

  it('may create it, remove it, and create it again, all at once', async () => {
    const trees = await createTree();
    const outcomes = await Promise.all([
      trees.create(tree(2)),
      trees.create(tree(2)),
      trees.create(tree(2, { height: 9 })),
      trees.replace(tree(2, { height: 3 })),
      trees.change('2', (row) => ({ ...(row as Tree), height: (row?.height ?? 0) + 1 })),
      trees.remove('2'),
      trees.remove('2'),
      trees.create(tree(2, { height: 5 })),
      trees.replace(tree(2, { height: 6 })),
    ]);
    expect(outcomes).toMatchObject([
      ...['created', 'identical', 'different'],
      ...[true, { height: 4 }, true, false],
      ...['created', true],
    ]);
    expect(await trees.find('2')).toMatchObject({ height: 6 });
  });
});

it('concurrent calls with one manager are made one after another', async () => {
  const { dataSource } = store;
  await dataSource.getRepository(Garden).insert({ id: '1' });
  const trees = openTrees();
  const outcomes = await dataSource.transaction((manager) =>
    Promise.allSettled([
      trees.create(tree(1), manager),
      trees.create(tree(2, { gardenId: '404' }), manager),
      trees.create(tree(3), manager),
      trees.change('1', (row) => ({ ...(row as Tree), height: 7 }), manager),
    ]),
  );
  expect(outcomes).toMatchObject([
    { value: 'created' },
    { reason: { kind: 'foreign key' } },
    { value: 'created' },
    { value: { height: 7 } },
  ]);
  const { rows } = await trees.list({ limit: 10 });
  expect(rows).toMatchObject([{ id: '1', height: 7 }, { id: '3' }]);
});

it.each<[string, object]>([
  ['3.7 for an int32', { size: 3.7 }],
  ['2^31 for an int32', { size: 2 ** 31 }],
  ['NaN for an int32', { size: NaN }],
  ['a text for an int32', { size: '5' }],
  ['1.5 for an int64', { number: 1.5 }],
  ['1e21 for an int64', { number: 1e21 }],
  ['a number beyond 2^53 for an int64', { number: 2 ** 60 }],
  ['12abc for an int64', { number: '12abc' }],
  ['1e3 for an int64', { number: '1e3' }],
  ['an empty text for an int64', { number: '' }],
  ['2^63 for an int64', { number: 2n ** 63n }],
  ['a number for a decimal', { price: 12 }],
  ['a text for a decimal', { price: '12.50' }],
  ['a text for a boolean', { isSunny: 'false' }],
  ['an object for a text', { name: { first: 'n' } }],
  ['a number for a text', { name: 5 }],
  ['a text for bytes', { plan: 'text' }],
])('a value that its column cannot hold is refused, and not stored: %s', async (_, value) => {
  const beds = new BatchedRepository(store.dataSource.getRepository(Bed));
  const bed = { id: '1', size: 1, number: '1', price: null, isSunny: null, name: null };
  const refused = { name: 'RangeError' };
  await expect(beds.create({ ...bed, ...value })).rejects.toMatchObject(refused);
  await beds.create(bed);
  await expect(beds.change('1', () => ({ ...bed, ...value }))).rejects.toMatchObject(refused);
  expect(await beds.find('1')).toMatchObject(bed);
});

it.each([0, -1, 1.5, NaN])('a page of %d rows is refused', async (limit) => {
  const trees = openTrees();
  await expect(trees.page({ limit })).rejects.toThrow(RangeError);
  await expect(trees.list({ limit })).rejects.toThrow(RangeError);
});

it.each(['from', 'after', 'to', 'before'])('a range is refused whose %s is null', (end) => {
  expect(() => inRange({ [end]: null })).toThrow(TypeError);
});

it.each([Virtual, Generated, Unwritten])(
  'a column that the program does not write has no place in batches: %p',
  (entity: new () => ObjectLiteral) => {
    const repository = store.dataSource.getRepository(entity);
    expect(() => new BatchedRepository(repository)).toThrow(TypeError);
  },
);

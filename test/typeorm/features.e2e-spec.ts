import { expect, it } from '@jest/globals';
import {
  Column,
  DeleteDateColumn,
  type DataSource,
  Entity,
  type EntityManager,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Tree,
  TreeChildren,
  TreeParent,
  ViewColumn,
  ViewEntity,
  VirtualColumn,
} from 'typeorm';
import { useEntityStore } from '../support/store.js';
import { ENGINE } from 'durable-rest/testing';

// Features of TypeORM that its documentation shows, each used as it shows them.

@Entity('plain')
class Plain {
  @PrimaryColumn({ type: 'integer' })
  id!: number;

  @Column({ type: 'varchar', unique: true })
  name!: string;

  @Column({ type: 'integer', default: 0 })
  size!: number;

  // TypeORM would name it in an INSERT, which SQLite refuses.
  @Column({
    ...{ type: 'integer', asExpression: 'size * 2', generatedType: 'STORED' },
    ...{ nullable: true, insert: false, update: false },
  })
  double!: number | null;

  @VirtualColumn({
    query: (alias) => `SELECT COUNT(*) FROM plain other WHERE other.size < ${alias}.size`,
  })
  smaller!: number;

  @DeleteDateColumn({ type: ENGINE === 'sqlite' ? 'datetime' : 'timestamptz' })
  removedAt!: Date | null;
}

/** The columns of every kind of tree. */
abstract class Node {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ type: 'varchar' })
  name!: string;

  parent!: Node | null;
  children!: Node[];
}

type TreeKind = Parameters<typeof Tree>[0];

/** Makes the entity of a tree of one kind. */
function makeTree(kind: TreeKind): new () => Node {
  class Leaf extends Node {}
  TreeParent()(Leaf.prototype, 'parent');
  TreeChildren({ cascade: true })(Leaf.prototype, 'children');
  Reflect.defineMetadata('design:type', Leaf, Leaf.prototype, 'parent');
  Object.defineProperty(Leaf, 'name', { value: `Leaf_${kind}` });
  Tree(kind)(Leaf);
  Entity(`tree_${kind.replace('-', '_')}`)(Leaf);
  return Leaf;
}

const KINDS: TreeKind[] = ['closure-table', 'materialized-path', 'nested-set'];
const TREES = KINDS.map((kind) => [kind, makeTree(kind)] as const);

@ViewEntity({ name: 'large', expression: 'SELECT name, size FROM plain WHERE size > 1' })
class Large {
  @ViewColumn()
  name!: string;

  @ViewColumn()
  size!: number;
}

const QUOTES = { none: 'a', one: "the gardener's", two: "''" };

@Entity('quoted')
class Quoted {
  @PrimaryColumn({ type: 'integer' })
  id!: number;

  @Column({ type: 'simple-json', default: QUOTES })
  quotes!: typeof QUOTES;
}

const store = useEntityStore([Plain, Large, Quoted, ...TREES.map(([, entity]) => entity)]);

async function save(...sizes: number[]): Promise<void> {
  const rows = sizes.map((size) => ({ id: size, name: `plain ${size}`, size }));
  await store.dataSource.getRepository(Plain).insert(rows);
}

async function listIds(): Promise<number[]> {
  const rows = await store.dataSource.getRepository(Plain).find({ order: { id: 'ASC' } });
  return rows.map(({ id }) => id);
}

it.each(TREES)('a tree of the kind %s', async (_, entity) => {
  const trees = store.dataSource.getTreeRepository(entity);
  const root = await trees.save(trees.create({ name: 'root' }));
  const leaf = await trees.save(trees.create({ name: 'leaf', parent: root }));
  await trees.save(trees.create({ name: 'tip', parent: leaf }));
  expect(await trees.findTrees()).toMatchObject([
    { name: 'root', children: [{ name: 'leaf', children: [{ name: 'tip', children: [] }] }] },
  ]);
  expect(await trees.countDescendants(root)).toBe(3);
  const ancestors = await trees.findAncestors(leaf);
  expect(ancestors.map(({ name }) => name).sort()).toEqual(['leaf', 'root']);
});

it('a view', async () => {
  await save(1, 2, 3);
  const large = await store.dataSource.getRepository(Large).find({ order: { size: 'DESC' } });
  expect(large).toEqual([
    { name: 'plain 3', size: 3 },
    { name: 'plain 2', size: 2 },
  ]);
});

it('a generated column and a virtual column', async () => {
  await save(1, 2);
  const found = await store.dataSource.getRepository(Plain).findOneByOrFail({ id: 2 });
  expect(found.double).toBe(4);
  expect(String(found.smaller)).toBe('1');
});

it('a query builder with a common table expression', async () => {
  await save(1, 2, 3);
  const { manager } = store.dataSource;
  const chosen = manager.createQueryBuilder(Plain, 'plain').select('plain.id', 'id');
  const rows = await manager
    .createQueryBuilder()
    .addCommonTableExpression(chosen.where('plain.size > 1'), 'chosen')
    .select('chosen.id', 'id')
    .from('chosen', 'chosen')
    .orderBy('chosen.id')
    .getRawMany<{ id: number }>();
  expect(rows).toEqual([{ id: 2 }, { id: 3 }]);
});

it('softRemove() and recover()', async () => {
  await save(1, 2);
  const plain = store.dataSource.getRepository(Plain);
  const first = await plain.findOneByOrFail({ id: 1 });
  await plain.softRemove(first);
  expect(first.removedAt).toBeInstanceOf(Date);
  expect(await listIds()).toEqual([2]);
  await plain.recover(first);
  expect(await listIds()).toEqual([1, 2]);
  await plain.softDelete({ id: 2 });
  expect(await plain.count({ withDeleted: true })).toBe(2);
  await plain.restore({ id: 2 });
  expect(await listIds()).toEqual([1, 2]);
});

it('upsert()', async () => {
  await save(1);
  const plain = store.dataSource.getRepository(Plain);
  const rows = [
    { id: 1, name: 'plain 1', size: 10 },
    { id: 2, name: 'plain 2', size: 20 },
  ];
  await plain.upsert(rows, { conflictPaths: ['id'], skipUpdateIfNoValuesChanged: true });
  expect(await plain.find({ order: { id: 'ASC' } })).toMatchObject(rows);
});

it('orIgnore()', async () => {
  await save(1);
  const insert = store.dataSource.createQueryBuilder().insert().into(Plain).orIgnore();
  await insert.values([1, 2].map((id) => ({ id, name: `plain ${id}`, size: 5 }))).execute();
  const sizes = await store.dataSource.getRepository(Plain).find({ order: { id: 'ASC' } });
  expect(sizes.map(({ size }) => size)).toEqual([1, 5]);
});

it('stream() gives rows, or says what it needs', async () => {
  await save(1);
  const query = store.dataSource.getRepository(Plain).createQueryBuilder('plain');
  // TypeORM has it only on PostgreSQL, with a package that is no dependency of this project.
  const message =
    ENGINE === 'sqlite' ? 'Stream is not supported by sqlite driver' : 'pg-query-stream';
  await expect(query.stream()).rejects.toThrow(message);
  expect(await listIds()).toEqual([1]);
});

it.each<[string, (manager: EntityManager, dataSource: DataSource) => Promise<void>]>([
  [
    'the manager of the outer one',
    (manager) =>
      manager.transaction(async (inner) => {
        await inner.insert(Plain, { id: 2, name: 'inner' });
        throw new Error('inner');
      }),
  ],
  [
    'the query runner',
    async ({ queryRunner }) => {
      await queryRunner?.startTransaction();
      await queryRunner?.manager.insert(Plain, { id: 2, name: 'inner' });
      await queryRunner?.rollbackTransaction();
      throw new Error('inner');
    },
  ],
])('a nested transaction by %s is rolled back alone', async (_, nest) => {
  const { dataSource } = store;
  await dataSource.transaction(async (manager) => {
    await manager.insert(Plain, { id: 1, name: 'outer' });
    await expect(nest(manager, dataSource)).rejects.toThrow('inner');
    await manager.insert(Plain, { id: 3, name: 'outer again' });
  });
  expect(await listIds()).toEqual([1, 3]);
});

it('a JSON default keeps its quotes', async () => {
  const rows = store.dataSource.getRepository(Quoted);
  await rows.insert({ id: 1 });
  expect(await rows.find()).toEqual([{ id: 1, quotes: QUOTES }]);
});

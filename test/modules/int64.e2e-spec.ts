import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Column, Entity, In, ManyToOne, OneToMany, PrimaryColumn, type Repository } from 'typeorm';
import { type EntityStore, openEntityStore } from '../support/store.js';

@Entity('growers')
class Grower {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @OneToMany(() => Tree, (tree) => tree.grower)
  trees!: Tree[];
}

@Entity('trees')
class Tree {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @Column({ type: 'bigint' })
  leaves!: string;

  @Column({ type: 'double precision' })
  weight!: number;

  @ManyToOne(() => Grower, (grower) => grower.trees, { nullable: false })
  grower!: Grower;
}

/** In the order of integers, which is not that of text. */
const IDS = [
  '-9223372036854775808',
  '-9007199254740993',
  '-2',
  '0',
  '2',
  '10',
  '9007199254740991',
  '9007199254740993',
  '9007199254740995',
  '9223372036854775806',
  '9223372036854775807',
];
const BIG = '9007199254740993';
/** As a double, this is the same number. */
const TWIN = '9007199254740992';
/** A floating-point number that int64 could hold. */
const WEIGHT = 2 ** 60;

let store: EntityStore;
let trees: Repository<Tree>;
let growers: Repository<Grower>;

beforeAll(async () => {
  store = await openEntityStore([Grower, Tree]);
  trees = store.dataSource.getRepository(Tree);
  growers = store.dataSource.getRepository(Grower);
  await growers.save(IDS.map((id) => ({ id })));
  await trees.save(IDS.map((id) => ({ id, leaves: id, weight: WEIGHT, grower: { id } })));
});

afterAll(() => store.close());

function listIds(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

it('an int64 that is read through TypeORM is exact', async () => {
  const order = { id: 'ASC' } as const;
  expect(listIds(await trees.find({ order }))).toEqual(IDS);
  expect(await trees.findBy({ id: TWIN })).toEqual([]);
  expect(listIds(await trees.find({ where: { id: In(['10', BIG]) }, order }))).toEqual(['10', BIG]);
  const [tree] = await trees.find({ where: { id: BIG }, relations: { grower: true } });
  expect(tree).toMatchObject({ weight: WEIGHT, grower: { id: BIG } });
  const page = await trees.find({ relations: { grower: true }, order, take: 9, skip: 3 });
  expect(listIds(page)).toEqual(IDS.slice(3));
});

it('a raw int64 is text where a number could not hold it', async () => {
  const raw = trees.createQueryBuilder('t').select('MAX(t.id)', 'max');
  expect(await raw.getRawOne()).toEqual({ max: '9223372036854775807' });
  const column = trees.createQueryBuilder('t').select('t.id', 'id').where({ id: BIG });
  expect(await column.getRawMany()).toEqual([{ id: BIG }]);
});

it('an int64 that is written through TypeORM keeps its row apart from those beside it', async () => {
  const tree = await trees.findOneByOrFail({ id: BIG });
  tree.leaves = '9007199254740997';
  await trees.save(tree);
  await trees.increment({ id: BIG }, 'leaves', 2);
  await trees.update({ id: '9007199254740995' }, { leaves: '-9223372036854775807' });
  await trees.upsert({ id: '10', leaves: BIG, weight: 1, grower: { id: '10' } }, ['id']);
  const leaves = await trees.find({ order: { id: 'ASC' } });
  const expected = new Map(IDS.map((id) => [id, id]))
    .set(BIG, '9007199254740999')
    .set('9007199254740995', '-9223372036854775807')
    .set('10', BIG);
  expect(leaves.map((row) => [row.id, row.leaves])).toEqual([...expected]);
});

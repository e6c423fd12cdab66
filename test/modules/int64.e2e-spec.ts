import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
/** A floating-point number that is an integer, and too large for int64. */
const HEAVY = 1e300;
/** One that int64 could hold. */
const LIGHT = 2 ** 60;

let store: EntityStore;
let trees: Repository<Tree>;
let growers: Repository<Grower>;

beforeAll(async () => {
  store = await openEntityStore([Grower, Tree]);
  trees = store.dataSource.getRepository(Tree);
  growers = store.dataSource.getRepository(Grower);
  await growers.save(IDS.map((id) => ({ id })));
  await trees.save(
    IDS.map((id) => ({
      id,
      leaves: id,
      weight: id === BIG ? LIGHT : HEAVY,
      grower: { id },
    })),
  );
});

afterAll(() => store.close());

function listIds(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

describe('an int64 that is read through TypeORM', () => {
  it.each<[string, () => Promise<unknown>, unknown]>([
    ['find', async () => listIds(await trees.find({ order: { id: 'ASC' } })), IDS],
    ['findBy the number beside it', () => trees.findBy({ id: TWIN }), []],
    [
      'In',
      async () =>
        listIds(await trees.find({ where: { id: In(['10', BIG]) }, order: { id: 'ASC' } })),
      ['10', BIG],
    ],
    [
      'a relation by join',
      async () =>
        (await trees.findOne({ where: { id: BIG }, relations: { grower: true } }))?.grower,
      { id: BIG },
    ],
    [
      'take with a join',
      async () =>
        listIds(
          await trees.find({ relations: { grower: true }, order: { id: 'ASC' }, take: 9, skip: 3 }),
        ),
      IDS.slice(3),
    ],
  ])('is exact: %s', async (_, read, expected) => {
    expect(await read()).toEqual(expected);
  });

  it.each<[string, () => Promise<unknown>, unknown]>([
    [
      'MAX',
      async () =>
        (
          await trees
            .createQueryBuilder('t')
            .select('MAX(t.id)', 'max')
            .getRawOne<{ max: unknown }>()
        )?.max,
      '9223372036854775807',
    ],
    [
      'a raw column',
      async () =>
        await trees
          .createQueryBuilder('t')
          .select('t.id', 'id')
          .where({ id: BIG })
          .getRawMany<object>(),
      [{ id: BIG }],
    ],
  ])('is text where a number could not hold it: %s', async (_, read, expected) => {
    const value = await read();
    expect(typeof value === 'number' ? 'rounded' : value).toEqual(expected);
  });
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

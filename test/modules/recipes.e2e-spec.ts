import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  Column,
  type DataSource,
  Entity,
  ForeignKey,
  PrimaryColumn,
  type QueryRunner,
  Unique,
} from 'typeorm';
import {
  ApiError,
  BatchedRepository,
  ConstraintErrors,
  Decimal,
  decimal,
  int32,
  int64,
  nullable,
  text,
  toApiError,
  uuid,
} from 'durable-rest';
import { setConstraintErrors } from '../../packages/platform/src/rest/constraint-errors.decorator.js';
import { useEntityStore } from '../support/store.js';

// The recipes of docs/modules.md and docs/recipes.md that no module of the example needs.

const TaxonErrors = {
  TAXON_BELOW_ITSELF: { error: 409921, message: 'A taxon cannot be below itself' },
  NAME_IN_USE: { error: 409922, message: 'Another taxon with this parent has the name' },
};

@Entity('taxa')
@Unique('taxa_name', ['parentKey', 'name'])
class Taxon {
  @PrimaryColumn(int64())
  id!: string;

  @ForeignKey(() => Taxon, { onDelete: 'RESTRICT' })
  @Column(nullable(int64()))
  parentId!: string | null;

  /** The parentId, or an empty text in its place: NULL is never equal to NULL. */
  @Column({ ...text(), select: false })
  parentKey!: string;

  @Column(text())
  name!: string;
}

/** A row that everybody changes first who changes several rows by a common rule. */
@Entity('locks')
class Lock {
  @PrimaryColumn(text())
  name!: string;
}

@Entity('movements')
class Movement {
  @PrimaryColumn(uuid())
  id!: string;

  @Column(int32())
  quantity!: number;

  @Column(decimal(12, 2))
  price!: Decimal;

  @ForeignKey(() => Lock, { onDelete: 'SET NULL' })
  @Column(nullable(text()))
  lock!: string | null;
}

const OTHER_ID = '00000000-0000-4000-8000-000000000000';

const store = useEntityStore([Taxon, Lock, Movement]);

@ConstraintErrors(Taxon, { constraint: 'taxa_name', error: TaxonErrors.NAME_IN_USE })
class TaxaController {}

let dataSource: DataSource;
let taxa: BatchedRepository<Taxon>;
let locks: BatchedRepository<Lock>;
let movements: BatchedRepository<Movement>;

beforeEach(() => {
  ({ dataSource } = store);
  setConstraintErrors(dataSource, [TaxaController]);
  taxa = new BatchedRepository(dataSource.getRepository(Taxon));
  locks = new BatchedRepository(dataSource.getRepository(Lock));
  movements = new BatchedRepository(dataSource.getRepository(Movement));
});

async function moveTaxon(id: string, parentId: string): Promise<void> {
  await dataSource.transaction(async (manager) => {
    // Moves happen one after another, since each changes this row first.
    await locks.change('taxa', (row) => row ?? { name: 'taxa' }, manager);
    let above: string | null | undefined = parentId;
    while (above) {
      if (above === id) throw new ApiError(TaxonErrors.TAXON_BELOW_ITSELF);
      above = (await taxa.find(above, manager))?.parentId;
    }
    await taxa.change(id, (taxon) => taxon && { ...taxon, parentId, parentKey: parentId }, manager);
  });
}

/** The sum of quantity times price, exact for 2^22 rows. */
async function sumValues(): Promise<Decimal> {
  const query = dataSource.getRepository(Movement).createQueryBuilder('movement').select([]);
  // The sum of whole products could exceed 64 bits, so each sum has three digits of the price.
  const places = [9, 6, 3, 0];
  for (const place of places) {
    const digits = `price / ${10 ** place} % 1000`;
    query.addSelect(`CAST(SUM(quantity * (${digits})) AS TEXT)`, `place${place}`);
  }
  const sums = await query.getRawOne<Record<string, string | null>>();
  const sum = (place: number): bigint => BigInt(sums?.[`place${place}`] ?? 0);
  return new Decimal(
    places.reduce((total, place) => total * 1_000n + sum(place), 0n),
    2,
  );
}

/** A step of a migration: sets whether the quantity may be NULL. */
async function setOptional(queryRunner: QueryRunner, isNullable: boolean): Promise<void> {
  const table = await queryRunner.getTable('movements');
  const column = table?.findColumnByName('quantity');
  if (column === undefined) throw new Error('movements has no column quantity');
  const changed = column.clone();
  changed.isNullable = isNullable;
  await queryRunner.changeColumn('movements', column, changed);
}

async function createTaxon(id: number, parentId: number | null, name = String(id)): Promise<void> {
  const parent = parentId === null ? null : String(parentId);
  await taxa.create({ id: String(id), parentId: parent, parentKey: parent ?? '', name });
}

describe('a reference to the own table', () => {
  it('never forms a circle, although opposite moves compete', async () => {
    for (const id of [1, 2, 3]) await createTaxon(id, null);
    await expect(moveTaxon('1', '1')).rejects.toMatchObject({ body: { error: 409921 } });
    const pairs = ['12', '23', '31', '21', '32', '13'];
    const moves = Array.from({ length: 60 }, (_, at) => pairs[at % pairs.length] ?? '');
    const outcomes = await Promise.allSettled(
      moves.map(([id = '', parentId = '']) => moveTaxon(id, parentId)),
    );
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(
      new Set(['fulfilled', 'rejected']),
    );
    const { rows } = await taxa.list({ limit: 10 });
    const parents = new Map(rows.map(({ id, parentId }) => [id, parentId]));
    for (const id of parents.keys()) {
      const seen: string[] = [];
      for (let at: string | null | undefined = id; at; at = parents.get(at)) {
        expect(seen).not.toContain(at);
        seen.push(at);
      }
    }
  });

  it('keeps a row with others below it', async () => {
    await createTaxon(1, null);
    await createTaxon(2, 1);
    const failure = await taxa.remove('1').catch((error: unknown) => error);
    const body = { error: 40999, message: 'Another row refers to this one' };
    expect(toApiError(failure)).toMatchObject({ body });
    expect(toApiError(taxa.removalError)).toMatchObject({ body });
    expect([await taxa.remove('2'), await taxa.remove('1')]).toEqual([true, true]);
    expect([locks.removalError, movements.removalError]).toEqual([undefined, undefined]);
  });
});

it('a value is unique together with another column that may be NULL', async () => {
  await createTaxon(1, null, 'a');
  await createTaxon(2, 1, 'a');
  for (const parentId of [null, 1]) {
    const failure = await createTaxon(3, parentId, 'a').catch((error: unknown) => error);
    const error = toApiError(failure)?.body.error;
    expect([parentId, error]).toEqual([parentId, 409922]);
  }
  const { json } = await taxa.page({ limit: 1 });
  expect(json).toMatchObject({ text: '[{"id":1,"name":"a"}]' });
});

it('a sum is exact, although it exceeds 64 bits', async () => {
  expect(String(await sumValues())).toBe('0.00');
  const largest = { quantity: -(2 ** 31), price: new Decimal(10n ** 12n - 1n, 2) };
  const rows = [largest, largest, { quantity: 3, price: new Decimal(-1_234_567n, 2) }];
  await Promise.all(rows.map((row) => movements.add(row)));
  expect(String(await sumValues())).toBe('-42949672959957087364.05');
});

it('a column is changed on both engines, and the rows stay', async () => {
  const stored = await movements.add({ quantity: 1, price: new Decimal(250n, 2) });
  const insert = `INSERT INTO movements (id, price) VALUES ('${OTHER_ID}', 1)`;
  const queryRunner = dataSource.createQueryRunner();
  await setOptional(queryRunner, true);
  await queryRunner.query(insert);
  expect(await movements.find(stored.id)).toEqual(stored);
  await queryRunner.query('DELETE FROM movements WHERE quantity IS NULL');
  await setOptional(queryRunner, false);
  await expect(queryRunner.query(insert)).rejects.toMatchObject({ kind: 'not null' });
  expect(await movements.find(stored.id)).toEqual(stored);
  await queryRunner.release();
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsOptional } from 'class-validator';
import {
  BatchedRepository,
  ConstraintErrors,
  CreateTable,
  date,
  int32,
  IsInt32,
  nullable,
  toApiError,
} from 'durable-rest';
import {
  Check,
  Column,
  Entity,
  ForeignKey,
  Index,
  type ObjectLiteral,
  PrimaryColumn,
  Repository,
  Unique,
} from 'typeorm';
import { setConstraintErrors } from '../../packages/platform/src/rest/constraint-errors.decorator.js';
import { addToSchema, useEntityStore } from '../support/store.js';
import { TestApp } from '../support/fixture-app.js';

@Entity('pots')
class Pot {
  @PrimaryColumn(int32()) id!: number;
}

@Entity('waterings')
@Unique('waterings_pot_day', ['potId', 'day'])
@Index('waterings_litres_day', ['litres', 'day'], { unique: true })
@Index('waterings_sum', { synchronize: false })
@Check('waterings_have_water', 'litres > 0')
class Watering {
  @PrimaryColumn(int32()) id!: number;

  @ForeignKey(() => Pot, { onDelete: 'RESTRICT' })
  @Column(int32())
  potId!: number;

  @ForeignKey(() => Pot, { onDelete: 'RESTRICT' })
  @Column(int32())
  canId!: number;

  @Column(date()) day!: string;

  @Column(int32()) litres!: number;
}

const NO_SUCH_POT = { error: 409971, message: 'There is no such pot' };
const NO_SUCH_CAN = { error: 409972, message: 'There is no such can' };
const ALREADY_WATERED = { error: 409973, message: 'The pot was watered on this day' };
const SAME_WATER = { error: 409974, message: 'As much water was given on this day' };
const NO_WATER = { error: 409975, message: 'Give water' };
const SAME_SUM = { error: 409976, message: 'The sum is taken' };
const POT_IN_USE = { error: 409977, message: 'The pot is in use' };
const ID_IN_USE = { error: 409978, message: 'The id is in use' };

@ConstraintErrors(
  Watering,
  { kind: 'foreign key', properties: ['potId'], error: NO_SUCH_POT },
  { kind: 'foreign key', properties: ['canId'], error: NO_SUCH_CAN },
  { constraint: 'waterings_pot_day', error: ALREADY_WATERED },
  { kind: 'unique', properties: ['day', 'litres'], error: SAME_WATER },
  { constraint: 'waterings_have_water', error: NO_WATER },
  { constraint: 'waterings_sum', error: SAME_SUM },
  { kind: 'unique', properties: ['id'], error: ID_IN_USE },
)
class WateringsController {}

@ConstraintErrors(Pot, { kind: 'referenced', error: POT_IN_USE })
class PotsController {}

describe('a violated constraint has its own error', () => {
  const store = useEntityStore([Pot, Watering]);
  let waterings: BatchedRepository<Watering>;
  let pots: BatchedRepository<Pot>;

  const STORED = { id: 1, potId: 1, canId: 1, day: '2026-05-01', litres: 3 };

  beforeEach(async () => {
    const { dataSource } = store;
    await dataSource.query('CREATE UNIQUE INDEX waterings_sum ON waterings ((id + litres))');
    setConstraintErrors(dataSource, [WateringsController, PotsController]);
    waterings = new BatchedRepository(dataSource.getRepository(Watering));
    pots = new BatchedRepository(dataSource.getRepository(Pot));
    await dataSource.getRepository(Pot).insert([{ id: 1 }, { id: 2 }]);
    await waterings.create(STORED);
  });

  const cases: [string, Partial<Watering>, object][] = [
    ['a missing row, in a column that is unique with another one', { potId: 7 }, NO_SUCH_POT],
    ['a missing row of the same table, in another column', { potId: 2, canId: 7 }, NO_SUCH_CAN],
    ['a unique pair with a foreign key', {}, ALREADY_WATERED],
    ['a unique pair that is named by its properties', { potId: 2, litres: 3 }, SAME_WATER],
    ['a check', { potId: 2, litres: 0 }, NO_WATER],
    ['a unique expression', { id: -1, potId: 2, day: '2026-05-02', litres: 5 }, SAME_SUM],
  ];

  it.each(cases)('in a batch: %s', async (_, changes, error) => {
    const row = { ...STORED, id: 2, litres: 9, ...changes };
    expect(await findError(waterings.create(row))).toMatchObject(error);
  });

  it.each(cases)('in a transaction: %s', async (_, changes, error) => {
    const row = { ...STORED, id: 2, litres: 9, ...changes };
    const run = store.dataSource.transaction((manager) => waterings.create(row, manager));
    expect(await findError(run)).toMatchObject(error);
  });

  it('in a write of TypeORM', async () => {
    const rows = store.dataSource.getRepository(Watering);
    const pair = rows.insert({ ...STORED, id: 2, litres: 9 });
    expect(await findError(pair)).toMatchObject(ALREADY_WATERED);
    const key = rows.insert({ ...STORED, potId: 2, day: '2026-06-01' });
    expect(await findError(key)).toMatchObject(ID_IN_USE);
  });

  it('in a removal', async () => {
    expect(await findError(pots.remove(1))).toMatchObject(POT_IN_USE);
  });

  it('and is named alike on both engines', async () => {
    const failure = waterings.create({ ...STORED, id: 2, litres: 9 });
    await expect(failure).rejects.toMatchObject({
      kind: 'unique',
      constraint: 'waterings_pot_day',
      properties: ['potId', 'day'],
    });
  });

  const refused: [string, ClassDecorator][] = [
    [
      'Watering declares no constraint waterings_day: declare it at the entity, or name it by its kind and properties',
      ConstraintErrors(Watering, { constraint: 'waterings_day', error: NO_WATER }),
    ],
    [
      'Watering declares no foreign key constraint (day): write @ForeignKey() at the entity',
      ConstraintErrors(Watering, { kind: 'foreign key', properties: ['day'], error: NO_WATER }),
    ],
    [
      '@ConstraintErrors() names unique constraint (day, potId) of Watering twice',
      ConstraintErrors(
        Watering,
        { constraint: 'waterings_pot_day', error: ALREADY_WATERED },
        { kind: 'unique', properties: ['day', 'potId'], error: NO_WATER },
      ),
    ],
  ];

  it.each(refused)('or the start is refused: %s', (message, decorate) => {
    const controller = (): void => undefined;
    decorate(controller);
    expect(() => setConstraintErrors(store.dataSource, [controller])).toThrow(message);
  });

  it('and one entity has the errors of one controller', () => {
    const controllers = [PotsController, WateringsController, PotsController];
    expect(() => setConstraintErrors(store.dataSource, controllers)).toThrow(
      'Two @ConstraintErrors() are for Pot: write one',
    );
  });
});

@Entity('shelves')
class Shelf {
  @PrimaryColumn(int32()) room!: number;
  @PrimaryColumn(int32()) number!: number;
}

@Entity('placed_pots')
@ForeignKey(() => Shelf, ['room', 'shelf'], ['room', 'number'])
class PlacedPot {
  @PrimaryColumn(int32()) id!: number;

  @Column(int32()) room!: number;

  @Column(nullable(int32())) shelf!: number | null;

  @ForeignKey(() => Pot)
  @Column(int32())
  potId!: number;
}

describe('a reference of several columns', () => {
  const store = useEntityStore([Pot, Shelf, PlacedPot]);

  it('is not violated while one of them is NULL', async () => {
    const placed = new BatchedRepository(store.dataSource.getRepository(PlacedPot));
    const row = { id: 1, room: 5, shelf: null, potId: 7 };
    const missing = { kind: 'foreign key', properties: ['potId'] };
    await expect(placed.create(row)).rejects.toMatchObject(missing);
    await store.dataSource.getRepository(Pot).insert({ id: 7 });
    expect(await placed.create(row)).toBe('created');
    const pair = { kind: 'foreign key', properties: ['room', 'shelf'] };
    await expect(placed.create({ ...row, id: 2, shelf: 1 })).rejects.toMatchObject(pair);
  });
});

@Entity('twins')
@Unique('twins_one', ['name'])
@Index('twins_other', ['name'], { unique: true })
class Twin {
  @PrimaryColumn(int32()) id!: number;
  @Column(int32()) name!: number;
}

describe('two constraints on the same columns', () => {
  const store = useEntityStore([Twin]);

  it.each<ObjectLiteral>([
    { constraint: 'twins_one', error: NO_WATER },
    { constraint: 'twins_other', error: NO_WATER },
    { kind: 'unique', properties: ['name'], error: NO_WATER },
  ])('are refused, since not every engine tells them apart: %p', (answer) => {
    const controller = (): void => undefined;
    ConstraintErrors(Twin, answer as Parameters<typeof ConstraintErrors<Twin>>[1])(controller);
    expect(() => setConstraintErrors(store.dataSource, [controller])).toThrow(
      'Twin has twins_one and twins_other, which are each a unique constraint (name): not every engine says which one a row violates, so keep one',
    );
  });
});

async function findError(failing: Promise<unknown>): Promise<object> {
  const error: unknown = await failing.catch((reason: unknown) => reason);
  const answer = toApiError(error);
  if (answer === undefined) throw new Error('There was no violation');
  return answer.body;
}

@Entity('seats')
class Seat {
  @PrimaryColumn(int32()) id!: number;
  @Column(int32()) row!: number;
}

class SeatDto {
  @IsInt32() id!: number;
  @IsOptional() @IsInt32() row?: number | null;
}

@ConstraintErrors(Seat, { kind: 'unique', properties: ['row'], error: ALREADY_WATERED })
@Controller('seats')
class SeatsController {
  constructor(@InjectRepository(Seat) private readonly seats: Repository<Seat>) {}

  @Post()
  async create(@Body() { id, row }: SeatDto): Promise<void> {
    await this.seats.insert({ id, row: row ?? 1 });
  }
}

@Module({ imports: [TypeOrmModule.forFeature([Seat])], controllers: [SeatsController] })
class SeatsModule {}

class CreateSeats1795900000001 extends CreateTable({
  name: 'seats',
  columns: { id: int32(), row: int32() },
  key: ['id'],
  unique: { seats_row: ['row'] },
}) {}

addToSchema({ entities: [Seat], migrations: [CreateSeats1795900000001] });

describe('a request that violates a constraint', () => {
  const app = TestApp.forAll({}, SeatsModule);

  it('is answered with the error of its controller', async () => {
    expect(await app.post('/seats', '{"id":1,"row":1}')).toMatchObject({ status: 201 });
    // The controller takes 1 in place of null, so this null has not violated the constraint.
    for (const row of ['1', 'null']) {
      const answer = await app.post('/seats', `{"id":2,"row":${row}}`);
      expect(answer).toMatchObject({ status: 409, body: ALREADY_WATERED });
    }
  });
});

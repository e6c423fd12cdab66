import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type NestInterceptor,
  Param,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiError,
  ApiOk,
  ApiPage,
  BatchedRepositoryOf,
  CreateTable,
  decimal,
  Decimal,
  IdDto,
  int64,
  IsDecimal,
  IsInt64,
  type JsonPage,
  PageQueryDto,
} from 'durable-rest';
import { IsBoolean } from 'class-validator';
import { map, type Observable } from 'rxjs';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TestApp } from '../support/fixture-app.js';
import { addToSchema } from '../support/store.js';

@Entity('pours')
class Pour {
  @PrimaryColumn(int64())
  id!: string;

  @Column(decimal(12, 2))
  litres!: Decimal;
}

class CreatePours1795900000003 extends CreateTable({
  name: 'pours',
  columns: { id: int64(), litres: decimal(12, 2) },
  key: ['id'],
}) {}

addToSchema({ entities: [Pour], migrations: [CreatePours1795900000003] });

class PourDto {
  @IsInt64()
  id!: bigint;

  @IsDecimal(12, 2)
  litres!: Decimal;

  @IsBoolean()
  isLarge!: boolean;
}

const LARGE = new Decimal(10n, 0);

function toDto({ id, litres }: Pour): PourDto {
  return { id: BigInt(id), litres, isLarge: litres.compare(LARGE) >= 0 };
}

class PoursRepository extends BatchedRepositoryOf(Pour) {}

/** Leaves out the small ones, and keeps the others as they are. */
@Injectable()
class LargeOnly implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler<PourDto[]>): Observable<PourDto[]> {
    const isLarge = ({ litres }: PourDto): boolean => litres.compare(LARGE) >= 0;
    return next.handle().pipe(map((pours) => pours.filter(isLarge)));
  }
}

@Controller('pours')
class PoursController {
  constructor(private readonly pours: PoursRepository) {}

  @Get()
  @ApiPage(PourDto, 'A page of pours')
  list(@Query() query: PageQueryDto): Promise<JsonPage> {
    return this.pours.mapPage(query, toDto);
  }

  @Get('large')
  @ApiPage(PourDto, 'A page of pours')
  @UseInterceptors(LargeOnly)
  listLarge(@Query() query: PageQueryDto): Promise<JsonPage> {
    return this.pours.page(query);
  }

  @Get('broken')
  @ApiPage(PourDto, 'A page of pours')
  listBroken(@Query() query: PageQueryDto): Promise<JsonPage> {
    return this.pours.mapPage(query, async (pour) => Promise.resolve(toDto(pour)));
  }

  @Get(':id')
  @ApiOk(PourDto, 'A pour')
  async read(@Param() { id }: IdDto): Promise<PourDto> {
    const pour = await this.pours.find(id);
    if (pour === undefined) throw new ApiError({ error: 40400, message: 'There is no pour' });
    return toDto(pour);
  }
}

@Module({ controllers: [PoursController], providers: [PoursRepository] })
class PoursModule {}

const app = TestApp.forAll({}, PoursModule);

const BIG = 9007199254740993n;
const SMALL = '{"id":1,"litres":9.99,"isLarge":false}';
const LIMIT = '{"id":2,"litres":10.00,"isLarge":true}';
const LONG = `{"id":${BIG},"litres":9999999999.99,"isLarge":true}`;

beforeAll(() =>
  app.nest.get(PoursRepository).createAll([
    { id: 1n, litres: new Decimal(999n, 2) },
    { id: 2n, litres: new Decimal(1000n, 2) },
    { id: BIG, litres: new Decimal(999999999999n, 2) },
  ]),
);

const LINES = { Accept: 'application/x-ndjson' };

describe('a computed member is the same in', () => {
  it.each([
    ['an answer', '/pours/1', {}, SMALL],
    ['an answer with a long id', `/pours/${BIG}`, {}, LONG],
    ['a page', '/pours', {}, `[${SMALL},${LIMIT},${LONG}]`],
    ['the last page', '/pours?after=2', {}, `[${LONG}]`],
    ['an empty page', `/pours?after=${BIG}`, {}, '[]'],
    ['lines', '/pours', LINES, `${SMALL}\n${LIMIT}\n${LONG}\n`],
    ['no lines', `/pours?after=${BIG}`, LINES, ''],
  ])('%s', async (_, path, headers, text) => {
    const answer = await app.get(path, headers);
    expect([answer.status, answer.text]).toEqual([200, text]);
  });

  it('the pages that a client follows', async () => {
    const pages = await app.getPages('/pours?limit=2');
    expect(pages.map(({ text }) => text)).toEqual([`[${SMALL},${LIMIT}]`, `[${LONG}]`]);
  });
});

it('an interceptor compares the decimals of a page', async () => {
  const { text } = await app.get('/pours/large');
  expect(text).toBe(`[{"id":2,"litres":10.00},{"id":${BIG},"litres":9999999999.99}]`);
});

it('a page whose function returns promises is a bug of the module', async () => {
  expect(await app.get('/pours/broken')).toMatchObject({ status: 500, body: { error: 50000 } });
});

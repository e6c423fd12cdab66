import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Injectable,
  Module,
  Param,
  Patch,
  Post,
  Query,
} from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { ApiOkResponse, ApiSchema } from '@nestjs/swagger';
import { IsBoolean, IsIn } from 'class-validator';
import {
  Column,
  Entity,
  type MigrationInterface,
  PrimaryColumn,
  type QueryRunner,
  Repository,
} from 'typeorm';
import {
  BatchedRepository,
  type JsonPage,
} from '../../src/platform/database/batched-repository.js';
import {
  boolean,
  date,
  decimal,
  instant,
  int32,
  int64,
  json,
  nullable,
  oneOf,
  text,
  uuid,
} from '../../src/platform/database/columns.js';
import { changeSchema } from '../../src/platform/database/migration-steps.js';
import { ApiError } from '../../src/platform/errors/api-error.js';
import { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';
import { Decimal } from '../../src/platform/json/decimal.js';
import { JsonText } from '../../src/platform/json/json-text.js';
import { IdDto } from '../../src/platform/rest/id.dto.js';
import { applyMergePatch, MergePatch } from '../../src/platform/rest/merge-patch.js';
import { ApiPage, PageQueryDto } from '../../src/platform/rest/page.js';
import {
  IsCalendarDate,
  IsDecimal,
  IsInstant,
  IsInt32,
  IsInt64,
  IsJson,
  IsOptionalNotNull,
  IsText,
  IsUuid,
} from '../../src/platform/validation/types.decorators.js';

// A feature with a member of each type, and a migration that creates its table.

const WORDS = ['clay', 'Stone', 'tin'];

const COLUMNS = {
  int32: nullable(int32()),
  int64: nullable(int64()),
  decimal: nullable(decimal(18, 4)),
  boolean: nullable(boolean()),
  word: nullable(oneOf()),
  text: nullable(text()),
  date: nullable(date()),
  instant: nullable(instant()),
  uuid: nullable(uuid()),
  json: nullable(json()),
};

@Entity('specimens')
export class Specimen {
  @PrimaryColumn(int64())
  id!: string;

  @Column(COLUMNS.int32)
  int32!: number | null;

  @Column(COLUMNS.int64)
  int64!: string | null;

  @Column(COLUMNS.decimal)
  decimal!: Decimal | null;

  @Column(COLUMNS.boolean)
  boolean!: boolean | null;

  @Column(COLUMNS.word)
  word!: string | null;

  @Column(COLUMNS.text)
  text!: string | null;

  @Column(COLUMNS.date)
  date!: string | null;

  @Column(COLUMNS.instant)
  instant!: string | null;

  @Column(COLUMNS.uuid)
  uuid!: string | null;

  @Column(COLUMNS.json)
  json!: JsonText | null;
}

/** The lowest value of each type that has an order. */
export const LOWEST = {
  int32: -2147483648,
  int64: '-9223372036854775808',
  decimal: new Decimal(1n - 10n ** 18n, 4),
  boolean: false,
  word: '',
  text: '',
  date: '0001-01-01',
  instant: '0001-01-01T00:00:00.000Z',
  uuid: '00000000-0000-0000-0000-000000000000',
};
export type SortedType = keyof typeof LOWEST;
export const SORTED_TYPES = Object.keys(LOWEST) as SortedType[];

/** A row with a value of each type that has an order. Orders have no place for NULL. */
@Entity('sorted_specimens')
export class SortedSpecimen {
  @PrimaryColumn(int64())
  id!: string;
}
for (const type of SORTED_TYPES) {
  Column({ ...COLUMNS[type], nullable: false })(SortedSpecimen.prototype, type);
}

export class CreateSpecimens1900000000000 implements MigrationInterface {
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await changeSchema(queryRunner).createTable({
      name: 'specimens',
      columns: { id: int64(), ...COLUMNS },
      key: ['id'],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('specimens');
  }
}

@ApiSchema({ name: 'SpecimenValues' })
class ValuesDto {
  @IsOptionalNotNull()
  @IsInt32()
  int32?: number;

  @IsOptionalNotNull()
  @IsInt64()
  int64?: bigint;

  @IsOptionalNotNull()
  @IsDecimal(18, 4)
  decimal?: Decimal;

  @IsOptionalNotNull()
  @IsBoolean()
  boolean?: boolean;

  @IsOptionalNotNull()
  @IsIn(WORDS)
  word?: string;

  @IsOptionalNotNull()
  @IsText({ maxLength: 4 })
  text?: string;

  @IsOptionalNotNull()
  @IsCalendarDate()
  date?: string;

  @IsOptionalNotNull()
  @IsInstant()
  instant?: string;

  @IsOptionalNotNull()
  @IsUuid()
  uuid?: string;

  @IsOptionalNotNull()
  @IsJson()
  json?: JsonText;
}

@ApiSchema({ name: 'Specimen' })
class SpecimenDto extends ValuesDto {
  @IsInt64()
  id!: bigint;
}

@ApiSchema({ name: 'SpecimenPatch' })
class SpecimenPatchDto extends MergePatch(ValuesDto) {}

class ListSpecimensDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsInt32()
  int32?: number;

  @IsOptionalNotNull()
  @IsInt64()
  int64?: bigint;

  @IsOptionalNotNull()
  @IsDecimal(18, 4)
  decimal?: Decimal;

  @IsOptionalNotNull()
  @IsBoolean()
  boolean?: boolean;

  @IsOptionalNotNull()
  @IsIn(WORDS)
  word?: string;

  @IsOptionalNotNull()
  @IsText()
  text?: string;

  @IsOptionalNotNull()
  @IsCalendarDate()
  date?: string;

  @IsOptionalNotNull()
  @IsInstant()
  instant?: string;

  @IsOptionalNotNull()
  @IsUuid()
  uuid?: string;
}

@Injectable()
export class SpecimensRepository extends BatchedRepository<Specimen> {
  constructor(@InjectRepository(Specimen) repository: Repository<Specimen>) {
    super(repository);
  }
}

@Controller('specimens')
class SpecimensController {
  constructor(private readonly specimens: SpecimensRepository) {}

  @Post()
  @HttpCode(200)
  async create(@Body() specimen: SpecimenDto): Promise<{ outcome: string }> {
    return { outcome: await this.specimens.create(specimen) };
  }

  @Get()
  @ApiPage(SpecimenDto, 'A page of specimens')
  list(@Query() { limit, after, format, ...where }: ListSpecimensDto): Promise<JsonPage> {
    return this.specimens.page({ limit, after, format }, where);
  }

  @Get(':id')
  @ApiOkResponse({ type: SpecimenDto })
  async read(@Param() { id }: IdDto): Promise<SpecimenDto> {
    const specimen = await this.specimens.find(id);
    if (specimen === undefined) throw new ApiError(ErrorCatalogue.NOT_FOUND);
    return toDto(specimen);
  }

  @Patch(':id')
  @ApiOkResponse({ type: SpecimenDto })
  async update(@Param() { id }: IdDto, @Body() patch: SpecimenPatchDto): Promise<SpecimenDto> {
    const specimen = await this.specimens.update(id, (stored) => ({
      id,
      ...applyMergePatch(ValuesDto, toDto(stored), patch),
    }));
    if (specimen === undefined) throw new ApiError(ErrorCatalogue.NOT_FOUND);
    return toDto(specimen);
  }

  @Delete(':id')
  @HttpCode(204)
  async remove(@Param() { id }: IdDto): Promise<void> {
    await this.specimens.remove(id);
  }
}

function toDto({ id, int64: big, ...values }: Specimen): SpecimenDto {
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
  return { id: BigInt(id), ...given, ...(big !== null && { int64: BigInt(big) }) };
}

@Module({
  imports: [TypeOrmModule.forFeature([Specimen])],
  controllers: [SpecimensController],
  providers: [SpecimensRepository],
})
export class SpecimensModule {}

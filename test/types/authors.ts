import { applyDecorators } from '@nestjs/common';
import {
  applyMergePatch,
  type BatchedRepository,
  type Decimal,
  inRange,
  IsCalendarDate,
  IsDecimal,
  IsInstant,
  IsInt32,
  IsInt64,
  IsJson,
  IsOptionalNotNull,
  IsSort,
  IsText,
  IsUuid,
  type JsonText,
  MergePatch,
  oneOfWords,
  type RowInput,
  Satisfies,
  Setting,
  wholeNumber,
} from 'durable-rest';
import type { Where } from '../../packages/store/src/repositories/page-reader.js';
import type { MergePatchOf } from '../../packages/platform/src/rest/merge-patch.js';
import { TOKENS } from '../../packages/platform/src/config/setting-formats.js';

// Tests of types, which `npm run typecheck` runs: each line below `@ts-expect-error` must be an
// error, and every other line must compile.

/** Members of the types that their decorators read. */
export class Members {
  @IsInt32() int32!: number;
  @IsInt64() int64!: bigint;
  @IsDecimal(12, 2) decimal!: Decimal;
  @IsText() text!: string;
  @IsText() @IsSort('text') words!: 'text' | '-text';
  @IsCalendarDate() date!: string;
  @IsInstant() instant!: string;
  @IsUuid() uuid!: string;
  @IsJson() json!: JsonText;
  @IsInt64() optional?: bigint;
  @IsInt64() removable: bigint | null = null;
  @IsInt64({ each: true }) int64s!: bigint[];
  @IsDecimal(12, 2, { each: true }) decimals: readonly Decimal[] = [];
  @IsText({ each: true, maxLength: 4 }) texts?: string[];
  @IsText({ message: 'is no text' })
  @Satisfies('must differ', ({ text }: Members) => text !== '')
  own!: string;
}

/** Members of other types. */
export class WrongMembers {
  // @ts-expect-error an integer of 32 bits is a number
  @IsInt32() int32!: bigint;
  // @ts-expect-error a number would round an integer of 64 bits
  @IsInt64() int64!: number;
  // @ts-expect-error a text cannot be calculated with
  @IsInt64() int64Text!: string;
  // @ts-expect-error a number would round a decimal
  @IsDecimal(12, 2) decimal!: number;
  // @ts-expect-error a text is no number
  @IsText() text!: number;
  // @ts-expect-error a day is a text
  @IsCalendarDate() date!: Date;
  // @ts-expect-error a moment is a text
  @IsInstant() instant!: Date;
  // @ts-expect-error a UUID is a text
  @IsUuid() uuid!: Buffer;
  // @ts-expect-error JSON is kept as its text
  @IsJson() json!: object;
  // @ts-expect-error the member may be what the decorator never reads
  @IsInt64() either!: bigint | number;
  // @ts-expect-error with each, the member is an array
  @IsInt64({ each: true }) one!: bigint;
  // @ts-expect-error without each, the member is no array
  @IsInt64() list!: bigint[];
  // @ts-expect-error without each, the member is no array
  @IsText({ maxLength: 4 }) texts!: string[];
  // @ts-expect-error numbers would round decimals
  @IsDecimal(12, 2, { each: true }) decimals!: number[];
  // @ts-expect-error the name of an order is a text
  @IsSort('name') sort!: number;
  // @ts-expect-error the rule is about another class
  @Satisfies('must differ', ({ words }: Members) => words === 'text') own!: string;
}

/** Settings of the types that their formats read. */
export class Settings {
  @Setting(wholeNumber(1, 10), '3') readonly BEDS!: number;
  @Setting(wholeNumber(1, 10)) readonly LIMIT: number | undefined;
  @Setting(oneOfWords(['on', 'off']), 'off') readonly WATERING!: 'on' | 'off';
  @Setting(TOKENS, '') readonly TOKENS!: readonly { readonly digest: Buffer }[];
}

/** Settings of other types. */
export class WrongSettings {
  // @ts-expect-error the format reads a number
  @Setting(wholeNumber(1, 10), '3') readonly BEDS!: string;
  // @ts-expect-error without a default, it may be undefined
  @Setting(wholeNumber(1, 10)) readonly LIMIT!: number;
  // @ts-expect-error the format also reads "off"
  @Setting(oneOfWords(['on', 'off']), 'off') readonly WATERING!: 'on';
  // @ts-expect-error a default is the text of a variable
  @Setting(wholeNumber(1, 10), 3) readonly DEFAULT!: number;
}

/** An entity with a column that may be NULL. */
interface Bed {
  readonly id: string;
  readonly size: number;
  readonly note: string | null;
}

export const rows: readonly RowInput<Bed>[] = [
  { id: '1', size: 3 },
  { id: 1n, size: 3, note: 'sunny' },
  { id: 1n, size: 3, note: null },
  // @ts-expect-error a number would round an integer of 64 bits
  { id: 1, size: 3 },
  // @ts-expect-error a column without NULL must be given
  { id: '1' },
  // @ts-expect-error a column without NULL cannot hold null
  { id: '1', size: null },
  // @ts-expect-error there is no such column
  { id: '1', size: 3, width: 2 },
];

export const conditions: readonly Where<Bed>[] = [
  {},
  { id: 1n, note: null },
  { size: inRange({ from: 1 }) },
  // @ts-expect-error the column holds numbers
  { size: '3' },
  // @ts-expect-error there is no such column
  { width: 2 },
];

class BedDto {
  @IsInt32() size!: number;
  @IsText() note?: string;
}

class BedPatchDto extends MergePatch(BedDto) {}

export const patches: readonly (BedPatchDto & MergePatchOf<BedDto>)[] = [
  {},
  { size: 3, note: null },
  // @ts-expect-error the member is a number
  { size: '3' },
];

export function patch(repository: BatchedRepository<Bed>, current: BedDto): BedDto {
  // @ts-expect-error there is no such member
  applyMergePatch(BedDto, current, { width: 2 });
  // @ts-expect-error there is no such column
  void repository.list({ limit: 1 }, { width: 2 });
  return applyMergePatch(BedDto, current, { size: 3 });
}

/** A decorator of an author's own, which is one of several together. */
export function IsShortText(): PropertyDecorator {
  return applyDecorators(
    IsOptionalNotNull(),
    IsText({ maxLength: 20 }),
    IsSort('name'),
    Satisfies('must not be empty', ({ text }: Combined) => text !== ''),
  );
}

/** A member of such a decorator. */
export class Combined {
  @IsShortText() text?: string;
}

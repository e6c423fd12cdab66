import { IsBoolean, IsIn } from 'class-validator';
import {
  type Decimal,
  IsCalendarDate,
  IsDecimal,
  IsInstant,
  IsInt32,
  IsInt64,
  IsJson,
  IsText,
  IsUuid,
  type JsonText,
} from 'durable-rest';

/** A member of each type. */
export class ValuesDto {
  @IsInt32()
  int32!: number;

  @IsInt64()
  int64!: bigint;

  @IsDecimal(18, 4)
  decimal!: Decimal;

  @IsBoolean()
  boolean!: boolean;

  @IsIn(['clay', 'Stone', 'tin'])
  word!: string;

  @IsText({ maxLength: 4 })
  text!: string;

  @IsCalendarDate()
  date!: string;

  @IsInstant()
  instant!: string;

  @IsUuid()
  uuid!: string;

  @IsJson()
  json!: JsonText;
}
export type TypeName = keyof ValuesDto;

/** The values of a type, as they are written in JSON. */
interface TypeCase {
  /** In their order, with those at both limits. */
  readonly valid: readonly string[];
  /** Other spellings, with those in which they are answered. */
  readonly spellings?: Readonly<Record<string, string>>;
  readonly invalid: readonly string[];
}

const quoted = (...texts: string[]): string[] => texts.map((text) => JSON.stringify(text));

export const TYPES: Readonly<Record<TypeName, TypeCase>> = {
  int32: {
    valid: ['-2147483648', '-1', '0', '9', '10', '2147483647'],
    spellings: { '1e3': '1000', '1.0': '1', '-0': '0', '10e-1': '1' },
    invalid: ['2147483648', '-2147483649', '1.5', '"1"', 'true', 'null'],
  },
  int64: {
    valid: [
      ...['-9223372036854775808', '-9007199254740993', '-1', '0', '9', '10'],
      ...['9007199254740992', '9007199254740993', '9223372036854775807'],
    ],
    spellings: { '9223372036854775807.0': '9223372036854775807', '1e18': '1000000000000000000' },
    invalid: ['9223372036854775808', '0.5', '"1"', 'null'],
  },
  decimal: {
    valid: [
      ...['-99999999999999.9999', '-1.0050', '-0.0001', '0.0000', '0.0001', '1.0049'],
      ...['1.0050', '9.0000', '10.0000', '90071992547409.9300', '99999999999999.9999'],
    ],
    spellings: { '1.005': '1.0050', '1e-4': '0.0001', '-0': '0.0000', '10': '10.0000' },
    invalid: ['1.00001', '100000000000000', '"1.5"', 'null'],
  },
  boolean: { valid: ['false', 'true'], invalid: ['0', '"true"', 'null'] },
  word: { valid: quoted('Stone', 'clay', 'tin'), invalid: [...quoted('stone', ''), 'null'] },
  text: {
    valid: quoted('', ' ', 'B', 'Z', 'a', 'b', 'z', '{', 'É', 'é', 'ﬁ', '\u{1f33f}', '\u{10ffff}'),
    invalid: [...quoted('12345', '\0'), String.raw`"\ud800"`, '1', 'null'],
  },
  date: {
    valid: quoted(
      ...['0001-01-01', '1582-10-10', '1970-01-01', '2000-02-29', '2026-11-22', '9999-12-31'],
    ),
    invalid: [
      ...quoted('0000-01-01', '0004-13-13', '2026-02-29', '1900-02-29', '2026-1-1', '10000-01-01'),
      ...quoted('2026-11-22T00:00:00Z'),
      'null',
    ],
  },
  instant: {
    valid: quoted(
      ...['0001-01-01T00:00:00.000Z', '1883-11-18T17:00:00.000Z', '1969-12-31T23:59:59.999Z'],
      ...['1970-01-01T00:00:00.000Z', '2026-03-08T07:30:00.000Z', '2026-11-01T05:30:00.000Z'],
      ...['2026-11-01T06:30:00.000Z', '2026-11-22T10:00:00.001Z', '9999-12-31T23:59:59.999Z'],
    ),
    spellings: {
      '"2026-11-22T10:00:00Z"': '"2026-11-22T10:00:00.000Z"',
      '"2026-11-22t10:00:00.5z"': '"2026-11-22T10:00:00.500Z"',
      '"2026-11-22T10:00:00+05:30"': '"2026-11-22T04:30:00.000Z"',
      '"2026-01-01T00:00:00.001-23:59"': '"2026-01-01T23:59:00.001Z"',
      // As Java, Python and Go send them: cut off, not rounded.
      '"2026-11-22T10:00:00.123456Z"': '"2026-11-22T10:00:00.123Z"',
      '"2026-11-22T10:00:00.999999999Z"': '"2026-11-22T10:00:00.999Z"',
      '"2026-11-22T10:00:00.000999999+01:00"': '"2026-11-22T09:00:00.000Z"',
    },
    invalid: quoted(
      ...['2026-11-22', '2026-11-22T10:00:00', '2026-02-30T10:00:00.000Z', '2016-12-31T23:59:60Z'],
      ...['0000-12-31T23:00:00-01:00', '2026-11-22T10:00:00.Z', '9999-12-31T23:59:59-01:00'],
      ...['0004-13-13T00:00:00Z'],
    ),
  },
  uuid: {
    valid: quoted(
      ...['00000000-0000-0000-0000-000000000000', '0190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a'],
      ...['a190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ),
    spellings: {
      '"0190B5C8-7D0A-7C3E-9B2A-5F4E3D2C1B0A"': '"0190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a"',
    },
    invalid: quoted('0190b5c87d0a7c3e9b2a5f4e3d2c1b0a', 'g190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a'),
  },
  json: {
    valid: [
      ...['0', '9007199254740993', '1e+400', '0.1', 'null', '""', '"\\u0000"', 'true', '[]', '{}'],
      '{"a":[1,{"b":null}],"c":"é"}',
    ],
    // Only white space between the parts goes.
    spellings: { '{ "b" : 1.0,\n"a": " " }': '{"b":1.0,"a":" "}', '[ 1e2 ]': '[1e2]' },
    invalid: ['{"a":1,"a":2}'],
  },
};

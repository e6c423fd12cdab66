import type { ColumnOptions, ValueTransformer } from 'typeorm';
import { Decimal } from '../json/decimal.js';
import { JsonText } from '../json/json-text.js';
import { CALENDAR_DATE, INSTANT_TYPE, UUID_TYPE, type ValueType } from './values.js';

// The types of columns that behave the same on every engine. An entity and its migration both use
// them: `@Column(decimal(12, 2))` and `columns: { price: decimal(12, 2) }`.

/** The type of a column. */
export type ColumnType = Omit<ColumnOptions, 'default' | 'nullable'> & {
  readonly type: string;
  /** The default value, as SQL. */
  readonly default?: string;
};

/** The type of a column that may hold NULL. */
export type NullableType = ColumnType & { readonly nullable: true };

/**
 * The type of a column that may also hold NULL: null in the program.
 *
 * @example
 * ```ts
 * @Column(nullable(text()))
 * tag!: string | null;
 * ```
 */
export function nullable(type: ColumnType): NullableType {
  return { ...type, nullable: true };
}

/**
 * An integer from -2,147,483,648 to 2,147,483,647 (-2^31 to 2^31 - 1): a number in the program.
 *
 * @example
 * ```ts
 * @Column(int32())
 * quantity!: number;
 * ```
 */
export function int32(): ColumnType & { readonly type: 'integer' } {
  return { type: 'integer' };
}

/**
 * An integer from -2^63 to 2^63 - 1: a decimal string in rows, since a JavaScript number cannot
 * hold every one. A row to store may have a bigint.
 * @example
 * ```ts
 * @PrimaryColumn(int64())
 * id!: string;
 * ```
 */
export function int64(): ColumnType & { readonly type: 'bigint' } {
  return { type: 'bigint' };
}

/**
 * An exact number with `precision` digits, of which `scale` follow the point: a {@link Decimal} in
 * the program. 12.50 is stored as 1250, which every engine sorts, compares and adds up exactly.
 *
 * @param precision 1 to 18
 * @param scale 0 to `precision`
 * @throws TypeError for a precision or a scale out of these ranges
 * @example
 * ```ts
 * @Column(decimal(12, 2))
 * price!: Decimal;
 * ```
 */
export function decimal(precision: number, scale: number): ColumnType {
  if (precision < 1 || precision > 18 || scale < 0 || scale > precision) {
    throw new TypeError(`decimal(${precision}, ${scale}) must have 1 to 18 digits`);
  }
  return { type: 'bigint', transformer: new DecimalTransformer(precision, scale) };
}

/**
 * True or false.
 *
 * @example
 * ```ts
 * @Column(boolean())
 * isPaid!: boolean;
 * ```
 */
export function boolean(): ColumnType {
  return { type: 'boolean' };
}

/**
 * Text of any length without U+0000 or unpaired surrogates, sorted by code point.
 *
 * @example
 * ```ts
 * @Column(text())
 * name!: string;
 * ```
 */
export function text(): ColumnType {
  return { type: 'text', collation: 'C' };
}

/**
 * One of a few words, which the DTO checks with `@IsIn()`. The database checks only that it is
 * text.
 *
 * @example
 * ```ts
 * @Column(oneOf())
 * type!: 'image/jpeg' | 'image/png';
 * ```
 */
export function oneOf(): ColumnType {
  return text();
}

/**
 * A day without a time, from 0001-01-01 to 9999-12-31: `2026-11-22` in the program.
 *
 * @example
 * ```ts
 * @Column(date())
 * plantedOn!: string;
 * ```
 */
export function date(): ColumnType {
  return { type: 'date', transformer: new CanonicalTextTransformer(CALENDAR_DATE) };
}

/**
 * An instant with milliseconds, in the years 1 to 9999: `2026-11-22T10:00:00.000Z` in the program.
 *
 * @example
 * ```ts
 * @Column(instant())
 * soldAt!: string;
 * ```
 */
export function instant(): ColumnType {
  return {
    type: 'timestamp with time zone',
    precision: 3,
    transformer: new CanonicalTextTransformer(INSTANT_TYPE),
  };
}

/**
 * A UUID in lowercase: a string in the program. `add()` of a repository generates one for a key.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9562 RFC 9562}
 * @example
 * ```ts
 * @PrimaryColumn(uuid())
 * id!: string;
 * ```
 */
export function uuid(): ColumnType {
  return { type: 'uuid', transformer: new CanonicalTextTransformer(UUID_TYPE) };
}

/**
 * Any JSON value, with exact numbers: a {@link JsonText} in the program.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8259 RFC 8259}
 * @example
 * ```ts
 * @Column(nullable(json()))
 * details!: JsonText | null;
 * ```
 */
export function json(): ColumnType {
  return { type: 'text', collation: 'C', transformer: jsonTransformer };
}

/**
 * Bytes of any length: a Buffer in the program. They are in no page and in no change of the feed.
 * Only `readBytes()` of a repository reads them.
 *
 * @example
 * ```ts
 * @Column(bytes())
 * data?: Buffer;
 * ```
 */
export function bytes(): ColumnType {
  return { type: 'bytea' };
}

/** Makes a {@link Decimal} of a stored whole number. */
export class DecimalTransformer implements ValueTransformer {
  /** @param scale how many digits follow the point */
  constructor(
    private readonly precision: number,
    readonly scale: number,
  ) {}

  /** @throws RangeError for a number that the column cannot hold exactly */
  to(value: unknown): unknown {
    return value instanceof Decimal
      ? String(value.rescale(this.precision, this.scale).unscaled)
      : value;
  }

  from(value: unknown): unknown {
    return value === null || value === undefined
      ? value
      : new Decimal(BigInt(value as string), this.scale);
  }

  /** Parses a number as JSON has it; undefined if the column cannot hold it. */
  parse(text: string): Decimal | undefined {
    return Decimal.parse(text, this.precision, this.scale);
  }
}

/**
 * Refuses texts that are not values of a type. Engines differ in whether they store such a text,
 * and in how they compare other spellings.
 */
export class CanonicalTextTransformer implements ValueTransformer {
  constructor(readonly type: ValueType) {}

  /** @throws RangeError for a text that is not a value of the type in its canonical spelling */
  to(value: unknown): unknown {
    if (typeof value !== 'string' || this.type.isValid(value)) return value;
    throw new RangeError(`A value ${this.type.explain(value)}; the program wrote ${value}`);
  }

  from(value: unknown): unknown {
    return value instanceof Date ? value.toISOString() : value;
  }
}

/** Makes a {@link JsonText} of stored text. */
export const jsonTransformer: ValueTransformer = {
  to: (value: unknown) => {
    const text = value instanceof JsonText ? value.text : value;
    // Engines store any text; this throws a SyntaxError for one that is not JSON.
    if (typeof text === 'string') JSON.parse(text);
    return text;
  },
  from: (value: unknown) => (typeof value === 'string' ? new JsonText(value) : value),
};

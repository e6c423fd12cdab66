import {
  buildMessage,
  ValidateBy,
  ValidateIf,
  type ValidationArguments,
  type ValidationOptions,
} from 'class-validator';
import {
  CALENDAR_DATE,
  INSTANT_TYPE,
  isString,
  isText,
  type Reader,
  unchanged,
  UUID_TYPE,
  type ValueType,
} from 'durable-store';
import {
  Decimal,
  INTEGER,
  JsonNumber,
  JsonText,
  parseInt64,
  PLAIN_NUMBER,
  TEXT,
} from 'durable-store/json';

import { isPatchClass } from './patch-class.js';

export { INSTANT_TYPE, isText, isValueType, type ValueType } from 'durable-store';

// The types of members of DTOs. Each decorator checks the member and documents it. With `each:
// true`, the member is an array of such values. For words from a list and for booleans, use @IsIn()
// and @IsBoolean() of class-validator.

/**
 * Compiles only on a member of the type, which may also be undefined or null. An author may combine
 * it with other decorators, and then its member is not known.
 */
export type MemberDecorator<Value> = <Name extends string | symbol>(
  target: string extends Name ? object : Partial<Record<Name, Value | null | undefined>>,
  name: Name,
) => void;

/** With `each: true`, the member is an array. */
type Options<Each extends boolean> = ValidationOptions & { each?: Each };
type Values<Value, Each> = Each extends true ? readonly Value[] : Value;

type TypeDecorator<Value> = <Each extends boolean = false>(
  options?: Options<Each>,
) => MemberDecorator<Values<Value, Each>>;

/** @param name identifies the rule in class-validator */
function IsOfType<Value>(name: string, type: ValueType): TypeDecorator<Value> {
  return (options) => {
    const defaultMessage = buildMessage(
      (each, args) => `${each}$property ${type.explain(args?.value)}`,
      options,
    );
    const validator = { validate: (value: unknown) => type.isValid(value), defaultMessage };
    return ValidateBy({ name, constraints: [type], validator }, options);
  };
}

/** Reads numbers by their source text. As a parameter, they have only the given spelling. */
function readNumber(spelling: RegExp, parse: (source: string) => unknown): Reader {
  return {
    read: (json) => (json instanceof JsonNumber ? parse(json.source) : undefined),
    readParameter: (text) => (spelling.test(text) ? parse(text) : undefined),
  };
}

/** Concerns only values of bodies: the same text as a parameter is read as a number. */
function adviseOnQuotes(value: unknown, { readParameter }: Reader): string {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  const isQuoted = values.some((one) => isString(one) && readParameter(one) !== undefined);
  return isQuoted ? ', not a string: write it without quotes' : '';
}

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

const isInt32 = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= INT32_MIN && Number(value) <= INT32_MAX;

/** Returns NaN for any other number: as a double, 1e-400 would be 0. */
function parseInt32(source: string): number {
  const number = Number(parseInt64(source) ?? NaN);
  return isInt32(number) ? number : NaN;
}

const int32 = readNumber(INTEGER, parseInt32);

/**
 * An integer from -2,147,483,648 to 2,147,483,647 (-2^31 to 2^31 - 1), as a number. With `each:
 * true`, the member is an array.
 *
 * @example
 * ```ts
 * @IsInt32()
 * @Min(1)
 * @ApiProperty({ description: 'How many are sold', example: 2 })
 * quantity!: number;
 * ```
 */
export const IsInt32 = IsOfType<number>('isInt32', {
  schema: { type: 'integer', format: 'int32' },
  ...int32,
  isValid: isInt32,
  explain: (value) =>
    `must be an integer from ${INT32_MIN} to ${INT32_MAX}` + adviseOnQuotes(value, int32),
});

const int64 = readNumber(INTEGER, parseInt64);

/**
 * An integer from -2^63 to 2^63 - 1, as a bigint. In JSON it is a number with all its digits, not a
 * string. With `each: true`, the member is an array.
 *
 * @example
 * ```ts
 * @IsInt64()
 * @ApiProperty({ description: 'Identification number of the plant', example: 1 })
 * id!: bigint;
 * ```
 */
export const IsInt64 = IsOfType<bigint>('isInt64', {
  schema: { type: 'integer', format: 'int64' },
  ...int64,
  // A transform or a pipe may get, and make, any bigint.
  isValid: (value) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  scaled: { scale: 0, read: (value) => value as bigint },
  explain: (value) =>
    'must be an integer from -9223372036854775808 to 9223372036854775807' +
    adviseOnQuotes(value, int64),
});

/**
 * An exact number with at most `precision` digits, of which `scale` follow the point: a {@link
 * Decimal}. A client gets 40002 for a number with more digits, which is never rounded.
 *
 * @param precision 1 to 18
 * @param scale 0 to `precision`
 * @param options of class-validator. With `each: true`, the member is an array
 * @example
 * ```ts
 * @IsDecimal(12, 2)
 * @Min(0)
 * @ApiProperty({ description: 'The price in euros', example: 24.9 })
 * price!: Decimal;
 * ```
 */
export function IsDecimal<Each extends boolean = false>(
  precision: number,
  scale: number,
  options?: Options<Each>,
): MemberDecorator<Values<Decimal, Each>> {
  const limit = String(new Decimal(10n ** BigInt(precision) - 1n, scale));
  const reader = readNumber(PLAIN_NUMBER, (source) => Decimal.parse(source, precision, scale));
  return IsOfType<Decimal>('isDecimal', {
    schema: {
      type: 'number',
      format: 'decimal',
      // Validators divide doubles, so that 0.07 would be no multiple of 0.01.
      description: `at most ${count(scale, 'digit')} after the point`,
      // Unlike the limit itself, powers of ten are exact as doubles.
      exclusiveMinimum: -(10 ** (precision - scale)),
      exclusiveMaximum: 10 ** (precision - scale),
    },
    ...reader,
    isValid: (value) => value instanceof Decimal,
    scaled: { scale, read: (value) => (value as Decimal).unscaled },
    explain: (value) =>
      `must be a number from -${limit} to ${limit} with at most ${count(scale, 'digit')} after the point` +
      adviseOnQuotes(value, reader),
  })(options);
}

/**
 * A pattern of JSON Schema for texts. It cannot exclude surrogates: without the flag `u` they are
 * halves of emoji, some generators replace their escapes, and Rust and RE2 do not support them.
 */
export const TEXT_PATTERN = String.raw`^[^\x00]*$`;

/**
 * Text without U+0000 or unpaired surrogates, whose length is counted in code points.
 *
 * @param options `minLength` is 0 by default, and `maxLength` unlimited. With `each: true`, the
 *   member is an array of texts
 * @example
 * ```ts
 * @IsText({ minLength: 1, maxLength: 200 })
 * @ApiProperty({ description: 'The name of the plant', example: 'Monstera' })
 * name!: string;
 * ```
 */
export function IsText<Each extends boolean = false>({
  minLength,
  maxLength,
  ...options
}: { minLength?: number; maxLength?: number } & Options<Each> = {}): MemberDecorator<
  Values<string, Each>
> {
  const least = minLength ?? 0;
  const most = maxLength ?? Infinity;
  const hasLength = (text: string): boolean => {
    if (least === 0 && most === Infinity) return true;
    // Each code point beyond U+FFFF is a pair of surrogates.
    const { length } = text.replaceAll(/[\ud800-\udbff]/g, '');
    return length >= least && length <= most;
  };
  return IsOfType<string>('isText', {
    schema: {
      type: 'string',
      pattern: TEXT_PATTERN,
      ...(minLength !== undefined && { minLength }),
      ...(maxLength !== undefined && { maxLength }),
    },
    ...unchanged,
    isValid: (value) => isString(value) && isText(value) && hasLength(value),
    explain: (value) => {
      if (!isString(value)) return 'must be a string';
      if (!isText(value)) return 'must not contain U+0000 or an unpaired surrogate';
      if (maxLength === undefined) return `must have at least ${count(least, 'character')}`;
      const atMost = count(maxLength, 'character');
      return `must have ${minLength === undefined ? 'at most' : `${minLength} to`} ${atMost}`;
    },
  })(options);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/**
 * A day from 0001-01-01 to 9999-12-31, as a string. With `each: true`, the member is an array.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc3339#section-5.6 full-date of RFC 3339}
 * @example
 * ```ts
 * @IsCalendarDate()
 * @ApiProperty({ description: 'The day on which it was planted', example: '2026-11-22' })
 * plantedOn!: string;
 * ```
 */
export const IsCalendarDate = IsOfType<string>('isCalendarDate', CALENDAR_DATE);

/**
 * An instant in the years 1 to 9999, which is read as UTC with three digits of a second: a string
 * such as `2026-11-22T10:00:00.000Z`. With `each: true`, the member is an array.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc3339#section-5.6 date-time of RFC 3339}
 * @example
 * ```ts
 * @IsInstant()
 * @ApiProperty({ description: 'When it was sold', example: '2026-11-22T10:00:00Z' })
 * soldAt!: string;
 * ```
 */
export const IsInstant = IsOfType<string>('isInstant', INSTANT_TYPE);

/**
 * A UUID of any version, which is read in lowercase, as a string. With `each: true`, the member is
 * an array.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9562 RFC 9562}
 * @example
 * ```ts
 * @IsUuid()
 * @ApiProperty({ description: 'The garden', example: '00000000-0000-4000-8000-000000000001' })
 * gardenId!: string;
 * ```
 */
export const IsUuid = IsOfType<string>('isUuid', UUID_TYPE);

/**
 * Any JSON value with exact numbers, without white space between its parts: a {@link JsonText}.
 * Objects and arrays may nest 64 deep. With `each: true`, the member is an array.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8259 RFC 8259}
 * @example
 * ```ts
 * @IsOptionalNotNull()
 * @IsJson()
 * @ApiPropertyOptional({ description: 'What the till adds', example: { till: 2 } })
 * details?: JsonText;
 * ```
 */
export const IsJson = IsOfType<JsonText>('isJson', {
  schema: {
    oneOf: [
      { type: 'object', additionalProperties: true },
      { type: 'array', items: {} },
      ...['string', 'number', 'boolean', 'null'].map((type) => ({ type })),
    ],
  },
  shape: TEXT,
  read: (json) => {
    const text = TEXT.convert(json) as string | undefined;
    // V8 keeps a concatenation as a tree of its parts until a character is read.
    text?.charCodeAt(0);
    return text === undefined ? undefined : new JsonText(text);
  },
  readParameter: () => undefined,
  isValid: (value) => value instanceof JsonText,
  explain: () => 'must be JSON without an object that has a member twice',
});

/**
 * Makes a member optional: its rules apply only if it is present. Unlike `@IsOptional()`, this does
 * not accept null.
 *
 * @example
 * ```ts
 * @IsOptionalNotNull()
 * @IsText()
 * @ApiPropertyOptional({ description: 'Tag to specify the type', example: 'indoor' })
 * tag?: string;
 * ```
 */
export function IsOptionalNotNull(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}

/** The name of rules that read other members of an object. */
export const WHOLE_OBJECT_RULE = 'satisfies';

/**
 * Checks a member together with the others of its object. A merge patch may lack the others, so the
 * result of the patch is checked instead.
 *
 * @param message completes the sentence that begins with the name: "must be later than openedAt"
 * @param isValid gets the whole object; it is not called for an optional member that is absent
 * @example
 * ```ts
 * class OpeningHoursDto {
 *   @IsInt32()
 *   opensAt!: number;
 *
 *   @Satisfies('must be later than opensAt', (dto: OpeningHoursDto) => dto.closesAt > dto.opensAt)
 *   @IsInt32()
 *   closesAt!: number;
 * }
 * ```
 */
export function Satisfies<Dto extends object>(
  message: string,
  isValid: (dto: Dto) => boolean,
): <Name extends string | symbol>(target: string extends Name ? object : Dto, name: Name) => void {
  return ValidateBy({
    name: WHOLE_OBJECT_RULE,
    validator: {
      validate: (_, args) => {
        const { object } = args as ValidationArguments;
        return isPatchClass(object.constructor) || isValid(object as Dto);
      },
      defaultMessage: () => `$property ${message}`,
    },
  });
}

import type { Shape } from '../json/json.js';

// The types of values that a column and a member of a DTO have in common.

/**
 * A type of values that JSON, JavaScript or the engines cannot express exactly.
 *
 * @example
 * ```ts
 * function assertValid(value: unknown, type: ValueType): void {
 *   if (!type.isValid(value)) throw new RangeError(`value ${type.explain(value)}`);
 * }
 * ```
 */
export interface ValueType {
  /** The type in JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The parts of an array or an object that {@link read} gets; by default none but its type. */
  readonly shape?: Shape;
  /** Reads a value of a body; undefined if it is of another JSON type. */
  readonly read: (json: unknown) => unknown;
  /** Reads a parameter; undefined for text that is not a spelling of a value. */
  readonly readParameter: (text: string) => unknown;
  readonly isValid: (value: unknown) => boolean;
  /** Describes valid values, to complete a sentence that begins with the name of a member. */
  readonly explain: (value: unknown) => string;
  /**
   * For a type of numbers that are not JavaScript numbers: a value times 10^scale, which `@Min()`
   * and similar rules compare.
   */
  readonly scaled?: { readonly scale: number; readonly read: (value: unknown) => bigint };
}

/**
 * Whether a constraint of a validator is a {@link ValueType}.
 *
 * @example
 * ```ts
 * const types = [UUID_TYPE, 64].filter(isValueType);
 * ```
 */
export function isValueType(value: unknown): value is ValueType {
  return typeof value === 'object' && value !== null && 'readParameter' in value;
}

/**
 * Whether a value is a string.
 *
 * @example
 * ```ts
 * const words = [1, 'two'].filter(isString);
 * ```
 */
export const isString = (value: unknown): value is string => typeof value === 'string';

/**
 * How values of bodies and of parameters are read.
 *
 * @example
 * ```ts
 * const lowercase: Reader = {
 *   read: (json) => (isString(json) ? json.toLowerCase() : undefined),
 *   readParameter: (text) => text.toLowerCase(),
 * };
 * ```
 */
export type Reader = Pick<ValueType, 'read' | 'readParameter'>;

/** Reads strings of bodies and parameters alike. */
export function readString(parse: (text: string) => string): Reader {
  return { read: (json) => (isString(json) ? parse(json) : undefined), readParameter: parse };
}

/**
 * Reads strings as they are.
 *
 * @example
 * ```ts
 * unchanged.read('Monstera'); // Monstera
 * unchanged.read(7); // undefined
 * ```
 */
export const unchanged = readString((text) => text);

/**
 * Whether every engine stores a string as it is: it has no U+0000 and no unpaired surrogates.
 *
 * @example
 * ```ts
 * isText('\ud83c'); // false
 * ```
 */
export function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** A day, or February 29 of any year. */
const DATE =
  /^(?!0000|.{5}(?:02-3|(?:0[469]|11)-31))\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;

function isDay(text: string): boolean {
  return DATE.test(text) && (!text.endsWith('-02-29') || isLeapYear(Number(text.slice(0, 4))));
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** A pattern of JSON Schema for a year that is not 0000. RE2 has no lookahead. */
const YEAR = '^(?:[1-9]|0[1-9]|00[1-9]|000[1-9])';

/**
 * The type of days, from 0001-01-01 to 9999-12-31.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc3339#section-5.6 full-date of RFC 3339}
 * @example
 * ```ts
 * CALENDAR_DATE.isValid('2026-02-29'); // false
 * ```
 */
export const CALENDAR_DATE: ValueType = {
  schema: { type: 'string', format: 'date', pattern: YEAR },
  ...unchanged,
  isValid: (value) => isString(value) && isDay(value),
  explain: () => 'must be a date from 0001-01-01 to 9999-12-31, in this form',
};

// RFC 3339 section 5.6, which also allows lowercase, and any number of digits of a second.
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const INSTANT = /^(?!0000)\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/**
 * Converts an instant to UTC, and cuts off what is shorter than a millisecond; returns the text
 * unchanged if it is not an instant.
 */
export function toUtc(text: string): string {
  if (INSTANT.test(text)) return text;
  const [, day = '', time = '', fraction = '', zone = ''] = DATE_TIME.exec(text) ?? [];
  if (!isDay(day)) return text;
  const inZone = `${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}`;
  // A Date takes four times as long.
  if (zone.toUpperCase() === 'Z') return `${inZone}Z`;
  const moment = new Date(inZone + zone).toISOString();
  return INSTANT.test(moment) ? moment : text;
}

/** Whether a text is an instant from {@link toUtc}. */
export function isInstant(value: unknown): value is string {
  return isString(value) && INSTANT.test(value) && isDay(value.slice(0, 10));
}

/**
 * The type of instants. Its values have the form `2026-11-22T10:00:00.000Z`.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc3339#section-5.6 date-time of RFC 3339}
 * @example
 * ```ts
 * INSTANT_TYPE.readParameter('2026-11-22T11:00:00+01:00'); // 2026-11-22T10:00:00.000Z
 * ```
 */
export const INSTANT_TYPE: ValueType = {
  schema: { type: 'string', format: 'date-time', pattern: YEAR },
  ...readString(toUtc),
  isValid: isInstant,
  explain: () =>
    'must be a date-time (RFC 3339) in the years 0001 to 9999, with no leap second, such as 2026-11-22T10:00:00Z',
};

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * The type of UUIDs of any version, in lowercase.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9562 RFC 9562}
 * @example
 * ```ts
 * UUID_TYPE.readParameter('0190B5C8-7D0A-7C3E-9B2A-5F4E3D2C1B0A'); // in lowercase
 * ```
 */
export const UUID_TYPE: ValueType = {
  schema: { type: 'string', format: 'uuid' },
  ...readString((text) => text.toLowerCase()),
  isValid: (value) => isString(value) && UUID.test(value),
  explain: () => 'must be a UUID, such as 0190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a',
};

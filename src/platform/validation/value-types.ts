import { Decimal } from '../json/decimal.js';
import { DuplicateMemberError, type Json, JsonNumber, stringifyJson } from '../json/json.js';
import { INTEGER, isInt64Text, parseInt64 } from '../json/json-number.js';
import { JsonText } from '../json/json-text.js';

/** A type of values that JSON, JavaScript or the engines cannot express exactly. */
export interface ValueType {
  /** The type in JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;

  /** Reads a value of a body; undefined if it is of another JSON type. */
  readonly read: (json: Json) => unknown;

  /** Reads a parameter; undefined for text that is no spelling of a value. */
  readonly readParameter: (text: string) => unknown;

  readonly isValid: (value: unknown) => boolean;

  /** Describes valid values, to complete a sentence that begins with the name of a member. */
  readonly explain: (value: unknown) => string;
}

export function isValueType(value: unknown): value is ValueType {
  return typeof value === 'object' && value !== null && 'readParameter' in value;
}

const NOT_TEXT = /[\0\ud800-\udfff]/u;

/**
 * The pattern of text in JSON Schema, as far as it means the same in every validator that is
 * generated from it. It cannot exclude surrogates: without the flag `u` they are halves of emoji,
 * some generators replace their escapes, and Rust and RE2 do not support them.
 */
export const TEXT_PATTERN = String.raw`^[^\x00]*$`;

/** Concerns only values of bodies: the same text as a parameter is read as a number. */
const WITHOUT_QUOTES = ', not a string: write it without quotes';

const isString = (value: unknown): value is string => typeof value === 'string';
const identity = (text: string): string => text;

/** Reads numbers by their source text. */
function byNumber(parse: (source: string) => unknown): ValueType['read'] {
  return (json) => (json instanceof JsonNumber ? parse(json.source) : undefined);
}

/** Reads strings by their text. */
function byString(parse: (text: string) => string): ValueType['read'] {
  return (json) => (isString(json) ? parse(json) : undefined);
}

/** An integer in a range, as a number. */
export function createInt32Type(): ValueType {
  const [min, max] = [-(2 ** 31), 2 ** 31 - 1];
  const isValid = (value: unknown): boolean =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
  const read = (source: string): number | undefined => {
    const number = Number(parseInt64(source) ?? NaN);
    return isValid(number) ? number : undefined;
  };
  return {
    schema: { type: 'integer', format: 'int32' },
    // As a double, 1e-400 would be 0.
    read: byNumber((source) => read(source) ?? NaN),
    readParameter: (text) => (INTEGER.test(text) ? read(text) : undefined),
    isValid,
    explain: () => `must be an integer from ${min} to ${max}`,
  };
}

/** An integer from -2^63 to 2^63 - 1, as a bigint. */
export const INT64: ValueType = {
  schema: { type: 'integer', format: 'int64' },
  read: byNumber(parseInt64),
  readParameter: (text) => (INTEGER.test(text) ? parseInt64(text) : undefined),
  isValid: (value) => typeof value === 'bigint',
  explain: (value) =>
    'must be an integer from -9223372036854775808 to 9223372036854775807' +
    ([value].flat().some(isInt64Text) ? WITHOUT_QUOTES : ''),
};

/** A number with at most `precision` digits, `scale` of them after the point, as a {@link Decimal}. */
export function createDecimalType(precision: number, scale: number): ValueType {
  const limit = String(new Decimal(10n ** BigInt(precision) - 1n, scale));
  const readParameter = (text: string): Decimal | undefined =>
    /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(text)
      ? Decimal.parse(text, precision, scale)
      : undefined;
  const isDecimalText = (value: unknown): boolean =>
    isString(value) && readParameter(value) !== undefined;
  return {
    schema: {
      type: 'number',
      format: 'decimal',
      multipleOf: Number(`1e-${scale}`),
      // Unlike the limit itself, powers of ten are exact as doubles.
      exclusiveMinimum: -(10 ** (precision - scale)),
      exclusiveMaximum: 10 ** (precision - scale),
    },
    read: byNumber((source) => Decimal.parse(source, precision, scale)),
    readParameter,
    isValid: (value) => value instanceof Decimal,
    explain: (value) =>
      `must be a number from -${limit} to ${limit} with at most ${count(scale, 'digit')} after the point` +
      ([value].flat().some(isDecimalText) ? WITHOUT_QUOTES : ''),
  };
}

/** Text that every engine stores exactly: without U+0000 or unpaired surrogates. Lengths are in code points. */
export function createTextType(minLength?: number, maxLength?: number): ValueType {
  const countCodePoints = (text: string): number => {
    let count = 0;
    for (let index = 0; index < text.length; index++, count++) {
      if ((text.codePointAt(index) ?? 0) > 0xffff) index++;
    }
    return count;
  };
  const hasLength = (text: string): boolean => {
    if (minLength === undefined && maxLength === undefined) return true;
    const length = countCodePoints(text);
    return length >= (minLength ?? 0) && length <= (maxLength ?? Infinity);
  };
  return {
    schema: {
      type: 'string',
      pattern: TEXT_PATTERN,
      ...(minLength !== undefined && { minLength }),
      ...(maxLength !== undefined && { maxLength }),
    },
    read: byString(identity),
    readParameter: identity,
    isValid: (value) => isString(value) && !NOT_TEXT.test(value) && hasLength(value),
    explain: (value) => {
      if (!isString(value)) return 'must be a string';
      if (NOT_TEXT.test(value)) return 'must not contain U+0000 or an unpaired surrogate';
      return `must have ${describeLengths(minLength, maxLength)}`;
    },
  };
}

function describeLengths(min: number | undefined, max: number | undefined): string {
  if (max === undefined) return `at least ${count(min ?? 0, 'character')}`;
  const most = count(max, 'character');
  return min === undefined ? `at most ${most}` : `${min} to ${most}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

const DATE = /^(?!0000)\d{4}-\d\d-\d\d$/;
// RFC 3339 section 5.6, which also allows small letters.
const DATE_TIME =
  /^\d{4}-\d\d-\d\d[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,3})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const INSTANT = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A day from 0001-01-01 to 9999-12-31, as text in that form. */
export const CALENDAR_DATE: ValueType = {
  schema: { type: 'string', format: 'date', pattern: '^(?!0000)' },
  read: byString(identity),
  readParameter: identity,
  isValid: (value) => isString(value) && isDay(value),
  explain: () => 'must be a date from 0001-01-01 to 9999-12-31, in this form',
};

function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  // For JavaScript, February 30 is March 2.
  return DATE.test(text) && date.getUTCDate() === Number(text.slice(8));
}

/** A moment (RFC 3339) with at most milliseconds, as text in UTC: `2026-11-22T10:00:00.000Z`. */
export const INSTANT_TYPE: ValueType = {
  schema: {
    type: 'string',
    format: 'date-time',
    pattern: String.raw`^(?!0000)[^.]*(?:\.\d{1,3}(?!\d).*)?$`,
  },
  read: byString(readInstant),
  readParameter: readInstant,
  // Every moment that was read has this form, but so has a text such as February 30.
  isValid: (value) => isString(value) && INSTANT.test(value) && new Date(value).toJSON() === value,
  explain: () =>
    'must be a date-time (RFC 3339) in the years 0001 to 9999, with at most 3 digits after the second and no leap second, such as 2026-11-22T10:00:00Z',
};

/** Converts a moment to UTC; returns the text unchanged if it is no moment. */
function readInstant(text: string): string {
  if (!DATE_TIME.test(text) || !isDay(text.slice(0, 10))) return text;
  const moment = new Date(text.toUpperCase()).toISOString();
  return INSTANT.test(moment) ? moment : text;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** A UUID of any version, as text in small letters. */
export const UUID_TYPE: ValueType = {
  schema: { type: 'string', format: 'uuid' },
  read: byString((text) => text.toLowerCase()),
  readParameter: (text) => text.toLowerCase(),
  isValid: (value) => isString(value) && UUID.test(value),
  explain: () => 'must be a UUID, such as 0190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a',
};

/** Any JSON value with exact numbers, as a {@link JsonText} without white space between its parts. */
export const JSON_TYPE: ValueType = {
  schema: {
    oneOf: [
      { type: 'object', additionalProperties: true },
      { type: 'array', items: {} },
      ...['string', 'number', 'boolean', 'null'].map((type) => ({ type })),
    ],
  },
  read: (json) => {
    try {
      return new JsonText(stringifyJson(json));
    } catch (error) {
      if (error instanceof DuplicateMemberError) return undefined;
      throw error;
    }
  },
  readParameter: () => undefined,
  isValid: (value) => value instanceof JsonText,
  explain: () => 'must be JSON without an object that has a member twice',
};

/** A JSON object with exact numbers, as a {@link JsonText} without white space between its parts. */
export const JSON_OBJECT_TYPE: ValueType = {
  ...JSON_TYPE,
  schema: { type: 'object', additionalProperties: true },
  isValid: (value) => value instanceof JsonText && value.text.startsWith('{'),
  explain: () => 'must be a JSON object in which no object has a member twice',
};

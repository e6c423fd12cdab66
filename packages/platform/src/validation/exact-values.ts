import { INTEGER, JsonNumber, parseScaled, PLAIN_NUMBER } from 'durable-store/json';
import { INSTANT_TYPE, isText } from './types.decorators.js';

// class-validator's rules for strings and numbers take what an engine or a double cannot hold. What
// these rules accept is exact too.

/** What the values of a type of JSON Schema must be besides, so that they are stored as sent. */
export interface ExactType {
  /** Passes for values of other types, which the rules of the member refuse. */
  readonly isExact: (value: unknown) => boolean;
  /** Completes a sentence that begins with the name of a member. */
  readonly reason: string;
}

const MOST = Number.MAX_SAFE_INTEGER;

export const EXACT_TEXT: ExactType = {
  isExact: (value) => typeof value !== 'string' || isText(value),
  reason: 'must not contain U+0000 or an unpaired surrogate',
};

/** A bigint is a number that a double would round: {@link readNumber}. */
const NUMBER: ExactType = {
  isExact: (value) => typeof value !== 'bigint',
  reason: `must not be a number that is rounded to an integer, such as one beyond ${MOST}`,
};

const INTEGER_TYPE: ExactType = {
  isExact: (value) =>
    typeof value === 'number'
      ? Number.isSafeInteger(value) || !Number.isInteger(value)
      : typeof value !== 'bigint',
  reason: `must be an integer from -${MOST} to ${MOST}`,
};

export const EXACT_TYPES: ReadonlyMap<unknown, ExactType> = new Map([
  ['string', EXACT_TEXT],
  ['number', NUMBER],
  ['integer', INTEGER_TYPE],
]);

/** For `@Type(() => Date)`. */
export const EXACT_DATE: ExactType = {
  isExact: (value) =>
    value instanceof Date &&
    !Number.isNaN(value.getTime()) &&
    INSTANT_TYPE.isValid(value.toISOString()),
  reason: 'must be a date in the years 1 to 9999',
};

/** How many digits {@link isExact} compares. */
const DIGITS = 22;

/**
 * Converts a JSON value. A number that a double would round to an integer becomes a bigint, since
 * the rules for numbers refuse that.
 */
export function readNumber(json: unknown): unknown {
  if (!(json instanceof JsonNumber)) return json;
  const { source } = json;
  const number = Number(source);
  // The sum of -0 and 0 is 0.
  if (!Number.isInteger(number) || isExact(source, number)) return number + 0;
  return BigInt(INTEGER.test(source) ? source : number);
}

/** Whether an integer is written with the digits that the source has. */
function isExact(source: string, integer: number): boolean {
  const text = String(integer);
  if (text === source) return true;
  const scale = DIGITS - 2 - Math.floor(Math.log10(Math.abs(integer)));
  const digits = parseScaled(source, Math.min(0, scale), DIGITS);
  return digits !== undefined && digits === parseScaled(text, Math.min(0, scale), DIGITS);
}

/**
 * Converts a value for `@Type(() => Number)`, if class-transformer may round it. What would be rounded
 * is a bigint.
 */
export function readExactNumber(value: unknown): unknown {
  if (typeof value === 'bigint') return value;
  const isNumeric = typeof value === 'string' && PLAIN_NUMBER.test(value);
  return isNumeric ? readNumber(new JsonNumber(value)) : undefined;
}

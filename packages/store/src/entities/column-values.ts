import type { ValueTransformer } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { Decimal } from '../json/decimal.js';
import { isInt64Text } from '../json/json-number.js';
import { CanonicalTextTransformer, DecimalTransformer } from './columns.js';
import { isText, UUID_TYPE } from './values.js';

/**
 * The values of a row for its columns, in a form that JSON can hold; null for a missing value. Bytes
 * are an exception: they are Buffers, or undefined, which keeps the bytes of a stored row.
 */
export type Values = readonly unknown[];

/** The values that a column takes, by its type. The other types take texts too. */
const WANTED: Readonly<Record<string, string>> & { readonly text: string } = {
  bigint: 'an integer from -2^63 to 2^63 - 1',
  integer: 'an integer from -2^31 to 2^31 - 1',
  boolean: 'true or false',
  bytea: 'a Buffer',
  text: 'a text without U+0000 and unpaired surrogates',
};

/**
 * Encodes a value of a column. Not every engine would refuse a wrong one.
 *
 * @throws RangeError, or for a key a TypeError, when the column cannot hold the value
 */
export function encodeValue(value: unknown, column: ColumnMetadata): unknown {
  const { type, transformer } = column;
  if (value === undefined && isBytes(column)) return undefined;
  const transformed: unknown =
    transformer === undefined ? value : (transformer as ValueTransformer).to(value);
  if (transformed === undefined || transformed === null) return null;
  if (transformer instanceof DecimalTransformer && !(value instanceof Decimal)) {
    throw createError(column, 'a Decimal');
  }
  const encoded = encodeAs(type, transformed);
  if (encoded === undefined) throw createError(column, WANTED[String(type)] ?? WANTED.text);
  return encoded;
}

function createError({ propertyName, isPrimary }: ColumnMetadata, wanted: string): Error {
  const message = `${propertyName} must be ${wanted}`;
  return isPrimary ? new TypeError(message) : new RangeError(message);
}

/** Encodes a value for a column of a type; undefined if the column cannot hold it. */
function encodeAs(type: unknown, value: unknown): unknown {
  switch (type) {
    case 'bigint':
      return isInt64(value) ? String(value) : undefined;
    case 'integer':
      return typeof value === 'number' && value === (value | 0) ? value : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'bytea':
      return Buffer.isBuffer(value) ? value : undefined;
    default:
      // Of an invalid text, one engine would store another text, and the other would refuse it.
      return typeof value === 'string' && isText(value) ? value : undefined;
  }
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value;
  return typeof value === 'number' ? Number.isSafeInteger(value) : isInt64Text(value);
}

/** Makes the value of a property of what an engine has read. */
export function decodeValue(value: unknown, { type, transformer }: ColumnMetadata): unknown {
  if (value === null || value === undefined) return null;
  if (transformer !== undefined) return (transformer as ValueTransformer).from(value) as unknown;
  if (type === 'boolean') return Boolean(value);
  // Another version of the program may have made the integers of a column longer or shorter.
  if (type === 'integer') return Number(value);
  return type === 'bigint' && typeof value === 'number' ? String(value) : value;
}

/** Whether a column holds a value that an engine has written as a text. */
export function isValueText(text: string, { type, transformer }: ColumnMetadata): boolean {
  if (type === 'bigint') return isInt64Text(text);
  if (type === 'integer') return isInt64Text(text) && Number(text) === (Number(text) | 0);
  // One engine writes 0 and 1.
  if (type === 'boolean') return /^(?:true|false|0|1)$/.test(text);
  if (type === 'uuid') return UUID_TYPE.isValid(text);
  return transformer instanceof CanonicalTextTransformer
    ? transformer.type.isValid(text)
    : isText(text);
}

/** Counts the bytes of the texts and the Buffers among values. */
export function countBytes(values: Values): number {
  let bytes = 0;
  for (const value of values) {
    if (typeof value === 'string' || Buffer.isBuffer(value)) bytes += Buffer.byteLength(value);
  }
  return bytes;
}

export function isBytes({ type }: ColumnMetadata): boolean {
  return type === 'bytea';
}

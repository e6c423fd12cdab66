import type { EntityMetadata, ObjectLiteral, TableColumn, ValueTransformer } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { v7 as newUuid } from 'uuid';
import { Decimal } from '../json/decimal.js';
import { isInt64Text } from '../json/json-number.js';
import { isText, UUID_TYPE } from './values.js';
import { DecimalTransformer, jsonTransformer, CanonicalTextTransformer } from './columns.js';

/**
 * The values of a row for its columns, in a form that JSON can hold; null for a missing value.
 * Bytes are Buffers; undefined if missing, which keeps the bytes of a stored row.
 */
export type Values = readonly unknown[];

/** A row as an engine returns it, by the names of the columns. */
export type RawRow = Readonly<Record<string, unknown>>;

const KEY_TYPES = ['integer', 'bigint', 'text', 'date', 'uuid'];
const COLUMN_TYPES = [...KEY_TYPES, 'boolean', 'timestamp with time zone', 'bytea'];

/**
 * The columns of an entity, from TypeORM's metadata. Encodes rows to values and decodes values to
 * rows.
 */
export class EntityColumns {
  readonly all: readonly ColumnMetadata[];
  /** The columns of bytes, which are read only when asked for. */
  readonly bytes: readonly ColumnMetadata[];
  /** The other columns. */
  readonly plain: readonly ColumnMetadata[];
  readonly keys: readonly ColumnMetadata[];
  /** The key column, if the store generates its numbers by counting up. */
  readonly counter: ColumnMetadata | undefined;
  /** The columns whose values a replacement replaces. */
  readonly replaced: readonly ColumnMetadata[];

  /** @throws TypeError with the reason why rows of this entity cannot be written in batches */
  constructor(readonly metadata: EntityMetadata) {
    assertSupported(metadata);
    this.all = metadata.columns;
    this.bytes = this.all.filter(isBytes);
    this.plain = this.all.filter((column) => !isBytes(column));
    this.keys = metadata.primaryColumns;
    this.counter = this.keys.find(isCounter);
    const replaced = this.all.filter(({ isUpdate, isPrimary }) => isUpdate && !isPrimary);
    this.replaced = replaced.length === 0 ? this.keys : replaced;
  }

  get table(): string {
    return this.quoteTable(this.metadata);
  }

  quoteTable({ tablePath, connection }: EntityMetadata): string {
    const names = tablePath.split('.').map((name) => connection.driver.escape(name));
    return names.join('.');
  }

  quoteColumn({ databaseName }: ColumnMetadata): string {
    return this.metadata.connection.driver.escape(databaseName);
  }

  /** Names a column with its table, since other tables and aliases may have the name alone. */
  qualifyColumn(column: ColumnMetadata): string {
    return `${this.table}.${this.quoteColumn(column)}`;
  }

  /** @throws TypeError when there is no such property */
  findColumn(property: string): ColumnMetadata {
    const column = this.all.find(({ propertyName }) => propertyName === property);
    if (column === undefined) throw new TypeError(`${this.metadata.name} has no ${property}`);
    return column;
  }

  /** Encodes a row as the values of its columns. A uuid that the program generates is made here. */
  encodeRow(row: ObjectLiteral): Values {
    return this.all.map((column) => this.encode(row[column.propertyName], column));
  }

  /**
   * Encodes a value of a column.
   *
   * @throws RangeError, or for a key a TypeError, when the column cannot hold it. Not every engine
   *   would refuse it.
   */
  encode(value: unknown, column: ColumnMetadata): unknown {
    const { type, transformer, propertyName, isPrimary } = column;
    if (value === undefined && isBytes(column)) return undefined;
    if (value === undefined && isUuidKey(column)) return newUuid();
    const plain: unknown =
      transformer === undefined ? value : (transformer as ValueTransformer).to(value);
    if (plain === undefined || plain === null) return null;
    const isUnscaled = transformer instanceof DecimalTransformer && !(value instanceof Decimal);
    const encoded = isUnscaled ? undefined : encodeAs(type, plain);
    if (encoded !== undefined) return encoded;
    const wanted = isUnscaled ? 'a Decimal' : (WANTED[String(type)] ?? WANTED.text);
    const WrongValue = isPrimary ? TypeError : RangeError;
    throw new WrongValue(`${propertyName} must be ${wanted}`);
  }

  /** Makes a row of the columns that an engine has read. */
  decodeRow(raw: RawRow): ObjectLiteral {
    const row = this.metadata.create() as ObjectLiteral;
    for (const column of this.plain) {
      row[column.propertyName] = decode(raw[column.databaseName], column);
    }
    return row;
  }

  /** Makes the row that a change leaves: the new values, and the values that no change replaces. */
  decodeValues(values: Values, stored: RawRow | undefined): ObjectLiteral {
    return this.decodeRow(this.makeRaw(values, stored));
  }

  /** Makes the row that a change leaves as an engine would return it, except for conversions. */
  makeRaw(values: Values, stored: RawRow | undefined): RawRow {
    const raw: Record<string, unknown> = {};
    for (const [index, { databaseName, isUpdate }] of this.all.entries()) {
      const isKept = stored !== undefined && !isUpdate;
      raw[databaseName] = isKept ? stored[databaseName] : values[index];
    }
    return raw;
  }

  /**
   * Whether a stored row has these values, except for bytes.
   *
   * @param ignored columns that may differ
   */
  isSame(values: Values, stored: RawRow, ignored: ReadonlySet<ColumnMetadata>): boolean {
    return this.all.every(
      (column, index) =>
        ignored.has(column) ||
        isBytes(column) ||
        values[index] === this.encode(decode(stored[column.databaseName], column), column),
    );
  }

  /** Makes the key of encoded values, as one text. */
  getKey(values: Values): string {
    return joinKey(this.keys.map((key) => checkKey(values[this.all.indexOf(key)], key)));
  }

  /**
   * Makes one text of a key, so that keys can be compared.
   *
   * @param key the value of the key; for a key of several columns an object with its properties
   * @throws TypeError when no row can have this key
   */
  readKey(key: unknown): string {
    const [onlyKey, ...others] = this.keys;
    if (onlyKey !== undefined && others.length === 0) return checkKey(key, onlyKey);
    const parts = key as ObjectLiteral;
    return joinKey(this.keys.map((column) => checkKey(parts[column.propertyName], column)));
  }

  /** Splits a key into the texts of its columns. */
  splitKey(key: string): readonly string[] {
    return this.keys.length === 1 ? [key] : (JSON.parse(key) as string[]);
  }

  /** Makes the key of a row that was read. */
  getRawKey(raw: RawRow): string {
    return joinKey(this.keys.map(({ databaseName }) => String(raw[databaseName])));
  }

  /** Finds rows that were read by their keys. */
  mapByKey(rows: readonly RawRow[]): Map<string, RawRow> {
    return new Map(rows.map((row) => [this.getRawKey(row), row]));
  }
}

/** The values that a column takes, by its type. The other types take texts too. */
const WANTED: Readonly<Record<string, string>> & { readonly text: string } = {
  bigint: 'an integer from -2^63 to 2^63 - 1',
  integer: 'an integer from -2^31 to 2^31 - 1',
  boolean: 'true or false',
  bytea: 'a Buffer',
  text: 'a text without U+0000 and unpaired surrogates',
};

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
      // One engine would store another text, another one would refuse it.
      return typeof value === 'string' && isText(value) ? value : undefined;
  }
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value;
  return typeof value === 'number' ? Number.isSafeInteger(value) : isInt64Text(value);
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

/** Whether a text is a value of a column in its canonical spelling. */
export function isValueText(text: string, { type, transformer }: ColumnMetadata): boolean {
  if (type === 'bigint') return isInt64Text(text);
  if (type === 'integer') return isInt64Text(text) && Number(text) === (Number(text) | 0);
  if (type === 'boolean') return /^(?:true|false|0|1)$/.test(text);
  if (type === 'uuid') return UUID_TYPE.isValid(text);
  return transformer instanceof CanonicalTextTransformer
    ? transformer.type.isValid(text)
    : isText(text);
}

/** @throws TypeError for a value that no row can have in a column of its key */
function checkKey(value: unknown, column: ColumnMetadata): string {
  const text = column.type === 'uuid' ? String(value).toLowerCase() : String(value);
  if (isValueText(text, column)) return text;
  if (text === 'null' || text === 'undefined') {
    throw new TypeError(
      `${column.propertyName} is not given: declare it with @PrimaryGeneratedColumn() if the store generates it`,
    );
  }
  throw new TypeError(`${text.slice(0, 40)} is no value of ${column.propertyName}`);
}

function joinKey(values: readonly string[]): string {
  return values.length === 1 ? String(values[0]) : JSON.stringify(values);
}

function decode(value: unknown, { type, transformer }: ColumnMetadata): unknown {
  if (value === null || value === undefined) return null;
  if (transformer !== undefined) return (transformer as ValueTransformer).from(value) as unknown;
  if (type === 'boolean') return Boolean(value);
  // Another version of the program may have made the integers of a column longer or shorter.
  if (type === 'integer') return Number(value);
  return type === 'bigint' && typeof value === 'number' ? String(value) : value;
}

/** Whether the store counts up the values of a column. */
export function isCounter({
  isGenerated,
  generationStrategy,
}: Pick<ColumnMetadata | TableColumn, 'isGenerated' | 'generationStrategy'>): boolean {
  return isGenerated && generationStrategy === 'increment';
}

/** Whether the store computes the values of a column from other columns. */
export function isComputed({ generatedType }: TableColumn): boolean {
  return generatedType !== undefined;
}

/** Whether the program makes the key of a row without one. */
function isUuidKey({ type, isPrimary, entityMetadata }: ColumnMetadata): boolean {
  return type === 'uuid' && isPrimary && entityMetadata.primaryColumns.length === 1;
}

/** Whether `columns.ts` has the type of a column. */
function isKnown(column: ColumnMetadata): boolean {
  const { type, transformer, isVersion, isCreateDate, isUpdateDate, isDeleteDate } = column;
  const isKnownTransformer =
    transformer === undefined ||
    transformer === jsonTransformer ||
    transformer instanceof DecimalTransformer ||
    transformer instanceof CanonicalTextTransformer;
  const isGenerated =
    isVersion || isCreateDate || isUpdateDate || isDeleteDate || column.asExpression !== undefined;
  const isProperty =
    !column.isVirtual && !column.isVirtualProperty && column.embeddedMetadata === undefined;
  const isWritten = isProperty && !isGenerated && column.isInsert;
  return COLUMN_TYPES.includes(String(type)) && isKnownTransformer && isWritten;
}

/** @throws TypeError */
function assertSupported(metadata: EntityMetadata): void {
  const { name, columns, primaryColumns } = metadata;
  const refuse = (reason: string): never => {
    throw new TypeError(
      `BatchedRepository takes the column types of columns.ts, and ${name} ${reason}: use TypeORM's own repository for it`,
    );
  };
  const unknown = columns.find((column) => !isKnown(column));
  if (unknown !== undefined) refuse(`has another type in ${unknown.propertyPath}`);
  if (primaryColumns.length === 0) refuse('has no primary key');
  if (metadata.tableName === 'given_rows') {
    refuse('has a table with the name of the given rows in a statement');
  }
  for (const key of primaryColumns) {
    const isConverted = key.transformer instanceof DecimalTransformer;
    if (!KEY_TYPES.includes(String(key.type)) || isConverted) refuse('has a key of another type');
    if (isCounter(key) && primaryColumns.length > 1) refuse('counts up a part of its key');
  }
  if (metadata.foreignKeys.some(({ deferrable }) => deferrable !== undefined)) {
    refuse('has a deferrable foreign key, so that a commit could fail for a single row');
  }
}

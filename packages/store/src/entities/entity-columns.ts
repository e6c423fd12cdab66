import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { v7 as newUuid } from 'uuid';
import { decodeValue, encodeValue, isBytes, isValueText, type Values } from './column-values.js';
import { assertSupported, isCounter } from './supported-entities.js';

/** A row as an engine returns it, by the names of the columns. */
export type RawRow = Readonly<Record<string, unknown>>;

/**
 * The columns of an entity, from TypeORM's metadata. Encodes rows to values, decodes values to rows,
 * and makes the key of a row as one text, so that keys can be compared.
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
  /** The columns that a replacement sets: at least one, since an UPDATE without any is not SQL. */
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
    // A key that is set to itself changes nothing.
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

  /** Encodes a row as the values of its columns, with a new uuid as the key if that is missing. */
  encodeRow(row: ObjectLiteral): Values {
    return this.all.map((column) => {
      const value: unknown = row[column.propertyName];
      if (value === undefined && isUuidKey(column)) return newUuid();
      return encodeValue(value, column);
    });
  }

  /** Makes a row of the columns that an engine has read. */
  decodeRow(raw: RawRow): ObjectLiteral {
    const row = this.metadata.create() as ObjectLiteral;
    for (const column of this.plain) {
      row[column.propertyName] = decodeValue(raw[column.databaseName], column);
    }
    return row;
  }

  /**
   * Makes the row that is stored after a change: the new values, and the stored values of the columns
   * that are never updated.
   */
  decodeValues(values: Values, stored: RawRow | undefined): ObjectLiteral {
    return this.decodeRow(this.makeRaw(values, stored));
  }

  /** Makes the same row with encoded values. An engine may return them in another spelling. */
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
    return this.all.every((column, index) => {
      if (ignored.has(column) || isBytes(column)) return true;
      // An engine may return a value in another spelling than the encoded one.
      const storedValue = decodeValue(stored[column.databaseName], column);
      return encodeValue(storedValue, column) === values[index];
    });
  }

  /**
   * Makes the key of a caller's argument.
   *
   * @param key the value of the key; for a key of several columns an object with its properties
   * @throws TypeError when no row can have this key
   */
  makeKey(key: unknown): string {
    const [onlyKey, ...others] = this.keys;
    if (onlyKey !== undefined && others.length === 0) return toKeyText(key, onlyKey);
    const parts = key as ObjectLiteral;
    return joinKey(this.keys.map((column) => toKeyText(parts[column.propertyName], column)));
  }

  /** Makes the key of encoded values. */
  makeKeyOfValues(values: Values): string {
    return joinKey(this.keys.map((key) => toKeyText(values[this.all.indexOf(key)], key)));
  }

  /** Makes the key of a row that an engine has read. */
  makeKeyOfRaw(raw: RawRow): string {
    return joinKey(this.keys.map(({ databaseName }) => String(raw[databaseName])));
  }

  /** Maps the keys of rows that an engine has read to the rows. */
  mapByKey(rows: readonly RawRow[]): Map<string, RawRow> {
    return new Map(rows.map((row) => [this.makeKeyOfRaw(row), row]));
  }

  /** Splits a key into the texts of its columns. */
  splitKey(key: string): readonly string[] {
    return this.keys.length === 1 ? [key] : (JSON.parse(key) as string[]);
  }
}

/** Whether the program makes the key of a row that is added without a key. */
function isUuidKey({ type, isPrimary, entityMetadata }: ColumnMetadata): boolean {
  return type === 'uuid' && isPrimary && entityMetadata.primaryColumns.length === 1;
}

/** @throws TypeError for a value that no row can have in a column of its key */
function toKeyText(value: unknown, column: ColumnMetadata): string {
  const { propertyName, type } = column;
  if (value === null || value === undefined) {
    throw new TypeError(
      `${propertyName} is not given: declare it with @PrimaryGeneratedColumn() if the store generates it`,
    );
  }
  const key = value as string | number | bigint;
  const text = type === 'uuid' ? String(key).toLowerCase() : String(key);
  if (isValueText(text, column)) return text;
  throw new TypeError(`${text.slice(0, 40)} is no value of ${propertyName}`);
}

function joinKey(values: readonly string[]): string {
  return values.length === 1 ? String(values[0]) : JSON.stringify(values);
}

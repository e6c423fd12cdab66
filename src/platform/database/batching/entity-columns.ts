import type { Driver, EntityMetadata, ObjectLiteral, Repository } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';
import { v7 as newUuid } from 'uuid';
import { TextChecker } from '../columns.js';

/**
 * The values of a row for the inserted columns, in a form that JSON can hold; null if not given.
 */
export type Values = readonly unknown[];

/** A row as an engine returns it, by the names of the columns. */
export type RawRow = Readonly<Record<string, unknown>>;

export const INTEGERS = new Set<unknown>(['int', 'integer', 'smallint', Number]);
export const TEXTS = new Set<unknown>([
  'text',
  'varchar',
  'character varying',
  'simple-enum',
  String,
]);
const KEYS = new Set<unknown>([...INTEGERS, ...TEXTS, 'bigint', 'uuid', 'date']);
/** The canonical spelling of an int64 of up to 18 digits. */
const SHORT_INT64 = /^(?:0|-?[1-9]\d{0,17})$/;

/**
 * The columns of an entity, from TypeORM's metadata. Encodes rows to values and decodes values to
 * rows.
 */
export class EntityColumns {
  readonly metadata: EntityMetadata;
  readonly driver: Driver;
  /** The columns of the primary key. */
  readonly keys: readonly ColumnMetadata[];
  /** The columns that an INSERT gives values. */
  readonly inserted: readonly ColumnMetadata[];
  /** The columns that a replacement gives new values. */
  readonly replaced: readonly ColumnMetadata[];
  /** The columns by which rows are compared. The values of the others are generated. */
  readonly compared: readonly ColumnMetadata[];
  readonly readable: readonly ColumnMetadata[];
  /** The key column, if the store generates its numbers by counting up. */
  readonly counter: ColumnMetadata | undefined;

  private readonly encoders: readonly ((row: ObjectLiteral) => unknown)[];
  private readonly keyIndexes: readonly number[];

  /**
   * @param encodeValue turns a value that TypeORM has prepared for a column into one that JSON can
   *   hold
   * @throws TypeError with the reason why rows of this entity cannot be written in batches
   */
  constructor(
    { metadata, manager }: Pick<Repository<ObjectLiteral>, 'metadata' | 'manager'>,
    private readonly encodeValue: (value: unknown, column: ColumnMetadata) => unknown,
  ) {
    assertFit(metadata);
    this.metadata = metadata;
    this.driver = manager.connection.driver;
    this.keys = metadata.primaryColumns;
    this.counter = this.keys.find((column) => isCounter(column));
    this.readable = metadata.columns.filter((column) => !column.isVirtualProperty);
    this.inserted = this.readable.filter(
      (column) => column.isInsert && column.generatedType === undefined,
    );
    this.replaced = this.inserted.filter(
      (column) => column.isUpdate && !column.isCreateDate && !column.isPrimary,
    );
    if (this.replaced.length === 0) this.replaced = this.keys;
    this.compared = this.inserted.filter(
      ({ isCreateDate, isUpdateDate, isVersion, isGenerated, isPrimary }) =>
        isPrimary || !(isCreateDate || isUpdateDate || isVersion || isGenerated),
    );
    this.keyIndexes = this.keys.map((column) => this.inserted.indexOf(column));
    this.encoders = this.inserted.map((column) => this.createEncoder(column));
  }

  get foreignKeys(): readonly ForeignKeyMetadata[] {
    return this.metadata.foreignKeys;
  }

  /** The quoted name of the table. */
  get table(): string {
    return this.quoteTable(this.metadata);
  }

  quoteTable({ tablePath }: EntityMetadata): string {
    return tablePath
      .split('.')
      .map((name) => this.quote(name))
      .join('.');
  }

  quoteColumn({ databaseName }: ColumnMetadata): string {
    return this.quote(databaseName);
  }

  quote(name: string): string {
    return this.driver.escape(name);
  }

  /**
   * Finds the column of a property.
   *
   * @throws TypeError when there is no such property
   */
  findColumn(property: string): ColumnMetadata {
    const column = this.metadata.findColumnWithPropertyPath(property);
    if (column === undefined) throw new TypeError(`${this.metadata.name} has no ${property}`);
    return column;
  }

  /** Encodes the values of a row for the inserted columns. */
  encodeRow(row: ObjectLiteral): Values {
    return this.encoders.map((encode) => encode(row));
  }

  private createEncoder(column: ColumnMetadata): (row: ObjectLiteral) => unknown {
    const { propertyName, type, transformer, embeddedMetadata, relationMetadata } = column;
    // TypeORM stores these values unchanged, but asking it takes most of the time of an encoding.
    const isPlain =
      (type === 'text' || type === 'bigint') &&
      (transformer ?? embeddedMetadata ?? relationMetadata) === undefined;
    return (row) => {
      const plain: unknown = isPlain ? row[propertyName] : undefined;
      if (typeof plain === 'string') return plain;
      if (typeof plain === 'bigint') return String(plain);
      const value: unknown = column.getEntityValue(row);
      return this.encode(value === undefined ? getDefaultValue(column) : value, column);
    };
  }

  /** Encodes the value of a column. */
  encode(value: unknown, column: ColumnMetadata): unknown {
    const prepared: unknown = this.driver.preparePersistentValue(value, column);
    return prepared === undefined ? null : this.encodeValue(prepared, column);
  }

  decodeRow(raw: RawRow): ObjectLiteral {
    const row = this.metadata.create() as ObjectLiteral;
    for (const column of this.readable) {
      const value: unknown = this.driver.prepareHydratedValue(raw[column.databaseName], column);
      column.setEntityValue(row, value);
    }
    return row;
  }

  /**
   * Makes a row of encoded values.
   *
   * @param current the row that has the values that the store generates
   */
  decodeValues(values: Values, current: ObjectLiteral | undefined): ObjectLiteral {
    const row = Object.assign(this.metadata.create() as ObjectLiteral, current);
    for (const [index, column] of this.inserted.entries()) {
      if (!this.compared.includes(column)) continue;
      const value: unknown = this.driver.prepareHydratedValue(values[index], column);
      column.setEntityValue(row, value);
    }
    return row;
  }

  /** Makes the key of encoded values, as one text. */
  getKey(values: Values): string {
    const [first = 0, ...others] = this.keyIndexes;
    if (others.length === 0) return this.normalizeKeyPart(values[first], this.keys[0]);
    return JSON.stringify(
      this.keyIndexes.map((index, place) => this.normalizeKeyPart(values[index], this.keys[place])),
    );
  }

  /**
   * Makes one text of a key, so that keys can be compared.
   *
   * @param key the value of the key; for a key of several columns an object with its properties
   * @throws TypeError when no row can have this key
   */
  readKey(key: unknown): string {
    const [column, ...others] = this.keys;
    if (others.length === 0) return this.normalizeKeyPart(key, column);
    return JSON.stringify(
      this.keys.map((part) =>
        this.normalizeKeyPart(part.getEntityValue(key as ObjectLiteral), part),
      ),
    );
  }

  /** Splits a key into the texts of its columns. */
  splitKey(key: string): readonly string[] {
    return this.keys.length === 1 ? [key] : (JSON.parse(key) as string[]);
  }

  /** Makes a key of the texts of its columns. */
  joinKey(parts: readonly unknown[]): string {
    const [first] = parts;
    return this.keys.length === 1 ? String(first) : JSON.stringify(parts.map(String));
  }

  /** Makes the key of a row that was read. */
  getRawKey(raw: RawRow): string {
    const parts = this.keys.map((column) =>
      this.normalizeKeyPart(raw[column.databaseName], column),
    );
    return this.joinKey(parts);
  }

  /** Writes a part of a key in its canonical spelling. */
  private normalizeKeyPart(value: unknown, column: ColumnMetadata | undefined): string {
    const text = String(value);
    if (column?.type === 'uuid') return text.toLowerCase();
    if (column?.type !== 'bigint' || SHORT_INT64.test(text)) return text;
    if (/^-?\d+$/.test(text)) {
      const number = BigInt(text);
      if (BigInt.asIntN(64, number) === number) return String(number);
    }
    throw new TypeError(`${text.slice(0, 40)} is not an int64`);
  }
}

function isCounter({ isGenerated, generationStrategy }: ColumnMetadata): boolean {
  return isGenerated && generationStrategy === 'increment';
}

/** Whether the values of a column differ between the program and the store. */
function isConverted({ transformer }: ColumnMetadata): boolean {
  return transformer !== undefined && !(transformer instanceof TextChecker);
}

function assertFit(metadata: EntityMetadata): void {
  const { name, primaryColumns, columns, foreignKeys } = metadata;
  const refuse = (reason: string): never => {
    throw new TypeError(`Rows of ${name} cannot be written in batches: ${reason}`);
  };
  if (primaryColumns.length === 0) refuse('it has no primary key');
  for (const key of primaryColumns) {
    if (!KEYS.has(key.type) || isConverted(key)) {
      refuse(`the key is ${String(key.type)}, and not an integer, text, a uuid or a date`);
    }
    if (isCounter(key) && primaryColumns.length > 1) {
      refuse('a key of several columns has one that the database counts up');
    }
  }
  if (metadata.inheritancePattern !== undefined || metadata.discriminatorColumn !== undefined) {
    refuse('it shares its table with other entities');
  }
  if (metadata.treeType !== undefined) refuse('it is a tree');
  if (metadata.deleteDateColumn !== undefined) refuse('removed rows stay in the table');
  if (foreignKeys.some(({ deferrable }) => deferrable !== undefined)) {
    refuse('a foreign key is deferrable, so a commit could fail for a single row');
  }
  const unclear = columns.find(
    (column) =>
      column.isNullable &&
      column.default !== undefined &&
      (typeof column.default === 'function' || isConverted(column)),
  );
  if (unclear !== undefined) {
    refuse(`${unclear.propertyPath} may be null, and has a default that only the database knows`);
  }
}

/**
 * Returns the value of a column that a new row does not give; undefined leaves it to the statement.
 */
function getDefaultValue(column: ColumnMetadata): unknown {
  if (column.isVersion) return 1;
  if (column.isGenerated && column.generationStrategy === 'uuid') return newUuid();
  const isKnown = typeof column.default !== 'function' && !isConverted(column);
  return isKnown ? column.default : undefined;
}

/** Adds up the lengths of the texts among values. */
export function countCharacters(values: Values): number {
  let count = 0;
  for (const value of values) if (typeof value === 'string') count += value.length;
  return count;
}

import type { Driver, EntityMetadata, ObjectLiteral, Repository } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';
import { v7 as newUuid } from 'uuid';

/** What a row has in each inserted column, in the form that JSON can hold; null where nothing is given. */
export type Values = readonly unknown[];

/** A row as an engine gives it: by the names of the columns. */
export type RawRow = Readonly<Record<string, unknown>>;

/** Types of columns. */
export const INTEGERS = new Set<unknown>(['int', 'integer', 'smallint', Number]);
export const TEXTS = new Set<unknown>([
  'text',
  'varchar',
  'character varying',
  'simple-enum',
  String,
]);
const KEYS = new Set<unknown>([...INTEGERS, ...TEXTS, 'bigint', 'uuid', 'date']);
/** The one spelling of an int64, but for those with 19 digits. */
const SHORT_INT64 = /^(?:0|-?[1-9]\d{0,17})$/;

/**
 * The columns of an entity by TypeORM's own metadata: what a row has in each of them, and the row
 * that such values make.
 */
export class EntityColumns {
  readonly metadata: EntityMetadata;
  readonly driver: Driver;
  /** The columns of the primary key. */
  readonly keys: readonly ColumnMetadata[];
  /** The columns that a new row has a value in. */
  readonly inserted: readonly ColumnMetadata[];
  /** The columns that get a new value when a row is replaced. */
  readonly replaced: readonly ColumnMetadata[];
  /** The columns by which rows are compared; the store itself gives the others their values. */
  readonly compared: readonly ColumnMetadata[];
  readonly readable: readonly ColumnMetadata[];
  /** The key column that counts up, where the key is a number that the store draws. */
  readonly counter: ColumnMetadata | undefined;

  private readonly encoders: readonly ((row: ObjectLiteral) => unknown)[];
  private readonly keyIndexes: readonly number[];

  /**
   * @param encodeValue makes what JSON can hold of a value that TypeORM has made ready for a column
   * @throws TypeError when rows of this entity cannot be written in batches: one sentence says why
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

  /** The name of the table, quoted. */
  get table(): string {
    return this.quoteTable(this.metadata);
  }

  quoteTable({ tablePath }: EntityMetadata): string {
    return tablePath
      .split('.')
      .map((name) => this.quote(name))
      .join('.');
  }

  /** The name of a column, quoted. */
  quoteColumn({ databaseName }: ColumnMetadata): string {
    return this.quote(databaseName);
  }

  quote(name: string): string {
    return this.driver.escape(name);
  }

  /**
   * The column of a property.
   *
   * @throws TypeError when there is no such property
   */
  findColumn(property: string): ColumnMetadata {
    const column = this.metadata.findColumnWithPropertyPath(property);
    if (column === undefined) throw new TypeError(`${this.metadata.name} has no ${property}`);
    return column;
  }

  /** What the row has in each of the inserted columns, as JSON has it. */
  encodeRow(row: ObjectLiteral): Values {
    return this.encoders.map((encode) => encode(row));
  }

  private createEncoder(column: ColumnMetadata): (row: ObjectLiteral) => unknown {
    const { propertyName, type, transformer, embeddedMetadata, relationMetadata } = column;
    // TypeORM, which stores these as they are, would take most of the time.
    const isPlain =
      (type === 'text' || type === 'bigint') &&
      (transformer ?? embeddedMetadata ?? relationMetadata) === undefined;
    return (row) => {
      const plain: unknown = isPlain ? row[propertyName] : undefined;
      if (typeof plain === 'string') return plain;
      if (typeof plain === 'bigint') return String(plain);
      const value: unknown = column.getEntityValue(row);
      return this.encode(value === undefined ? defaultValue(column) : value, column);
    };
  }

  /** What a column stores of a value, as JSON has it. */
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
   * The row that encoded values make.
   *
   * @param current what the row has in the columns to which the store itself gives their values
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

  /** The key of encoded values, as one text. */
  getKey(values: Values): string {
    const [first = 0, ...others] = this.keyIndexes;
    if (others.length === 0) return this.keyPart(values[first], this.keys[0]);
    return JSON.stringify(
      this.keyIndexes.map((index, place) => this.keyPart(values[index], this.keys[place])),
    );
  }

  /**
   * A key as one text, so that keys can be compared.
   *
   * @param key the value of the key, or of several columns an object by their properties
   * @throws TypeError when no row can have this key
   */
  readKey(key: unknown): string {
    const [column, ...others] = this.keys;
    if (others.length === 0) return this.keyPart(key, column);
    return JSON.stringify(
      this.keys.map((part) => this.keyPart(part.getEntityValue(key as ObjectLiteral), part)),
    );
  }

  /** The texts of the columns that a key was made of. */
  splitKey(key: string): readonly string[] {
    return this.keys.length === 1 ? [key] : (JSON.parse(key) as string[]);
  }

  /** The key that was made of these texts. */
  joinKey(parts: readonly unknown[]): string {
    const [first] = parts;
    return this.keys.length === 1 ? String(first) : JSON.stringify(parts.map(String));
  }

  /** The key of a row that was read. */
  rawKey(raw: RawRow): string {
    const parts = this.keys.map((column) => this.keyPart(raw[column.databaseName], column));
    return this.joinKey(parts);
  }

  /** A part of a key in its one spelling. */
  private keyPart(value: unknown, column: ColumnMetadata | undefined): string {
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

function assertFit(metadata: EntityMetadata): void {
  const { name, primaryColumns, columns } = metadata;
  const refuse = (reason: string): never => {
    throw new TypeError(`Rows of ${name} cannot be written in batches: ${reason}`);
  };
  if (primaryColumns.length === 0) refuse('it has no primary key');
  for (const key of primaryColumns) {
    if (!KEYS.has(key.type) || key.transformer !== undefined) {
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
  const unclear = columns.find(
    (column) =>
      column.isNullable &&
      column.default !== undefined &&
      (typeof column.default === 'function' || column.transformer !== undefined),
  );
  if (unclear !== undefined) {
    refuse(`${unclear.propertyPath} may be null, and has a default that only the database knows`);
  }
}

/** The value of a new row in a column that is not given; undefined leaves it to the statement. */
function defaultValue(column: ColumnMetadata): unknown {
  if (column.isVersion) return 1;
  if (column.isGenerated && column.generationStrategy === 'uuid') return newUuid();
  const isKnown = typeof column.default !== 'function' && column.transformer === undefined;
  return isKnown ? column.default : undefined;
}

/** The length of all texts among the values of a row. */
export function countCharacters(values: Values): number {
  let count = 0;
  for (const value of values) if (typeof value === 'string') count += value.length;
  return count;
}

import { randomUUID } from 'node:crypto';
import type { Driver, EntityMetadata, ObjectLiteral, Repository } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';

/** What a row has in each column, in the form that the engine stores; null where nothing is given. */
export type Values = readonly unknown[];

/** A row as an engine gives it: by the names of the columns. */
export type RawRow = Readonly<Record<string, unknown>>;

const INTEGER_KEYS = new Set<unknown>(['int', 'integer', 'smallint', Number]);
const TEXT_KEYS = new Set<unknown>(['text', 'varchar', 'character varying', 'uuid', String]);
/** What a column's values are in JSON. */
const JSON_KINDS = new Map<unknown, 'integer' | 'string'>([
  ...[...INTEGER_KEYS, 'bigint'].map((type) => [type, 'integer'] as const),
  ...[...TEXT_KEYS].map((type) => [type, 'string'] as const),
]);
/** The one spelling of an int64, but for those with 19 digits. */
const SHORT_INT64 = /^(?:0|-?[1-9]\d{0,17})$/;

/** A member of a row as JSON. */
export interface JsonMember {
  /** As JSON text. */
  readonly name: string;
  readonly column: ColumnMetadata;
  readonly kind: 'integer' | 'string';
}

/**
 * The columns of an entity by TypeORM's own metadata: what a row has in each of them, and the row
 * that such values make.
 */
export class EntityColumns {
  readonly metadata: EntityMetadata;
  readonly driver: Driver;
  /** Those that a new row has a value in. */
  readonly inserted: readonly ColumnMetadata[];
  /** Those that a row gets a new value in when it is replaced. */
  readonly replaced: readonly ColumnMetadata[];
  /** Those by which rows are compared; the store itself gives the others their values. */
  readonly compared: readonly ColumnMetadata[];
  /** Those that can be read. */
  readonly readable: readonly ColumnMetadata[];
  readonly key: ColumnMetadata;
  /** The place of the key among those that are inserted. */
  readonly keyIndex: number;

  private readonly encoders: readonly ((row: ObjectLiteral) => unknown)[];

  /**
   * @param encodeValue makes what JSON can hold of a value that TypeORM has made ready for a column
   * @throws TypeError when rows of this entity cannot be written in groups: one sentence says why
   */
  constructor(
    { metadata, manager }: Pick<Repository<ObjectLiteral>, 'metadata' | 'manager'>,
    private readonly encodeValue: (value: unknown, column: ColumnMetadata) => unknown,
  ) {
    this.metadata = metadata;
    this.driver = manager.connection.driver;
    this.key = keyColumn(metadata);
    refuseUnfit(metadata);
    this.readable = metadata.columns.filter((column) => !column.isVirtualProperty);
    this.inserted = this.readable.filter(
      ({ isInsert, generatedType }) => isInsert && generatedType === undefined,
    );
    this.replaced = this.inserted.filter(
      (column) => column.isUpdate && !column.isCreateDate && column !== this.key,
    );
    this.compared = this.inserted.filter(
      ({ isCreateDate, isUpdateDate, isVersion, isGenerated, isPrimary }) =>
        isPrimary || !(isCreateDate || isUpdateDate || isVersion || isGenerated),
    );
    if (this.replaced.length === 0) this.replaced = [this.key];
    this.keyIndex = this.inserted.indexOf(this.key);
    this.encoders = this.inserted.map((column) => this.encoderOf(column));
  }

  get foreignKeys(): readonly ForeignKeyMetadata[] {
    return this.metadata.foreignKeys;
  }

  /** The name of the table, quoted. */
  get table(): string {
    return this.quotedTable(this.metadata);
  }

  quotedTable({ tablePath }: EntityMetadata): string {
    return tablePath
      .split('.')
      .map((name) => this.quote(name))
      .join('.');
  }

  quote(name: string): string {
    return this.driver.escape(name);
  }

  /** What the row has in each of the inserted columns, as JSON has it. */
  valuesOf(row: ObjectLiteral): Values {
    return this.encoders.map((encode) => encode(row));
  }

  private encoderOf(column: ColumnMetadata): (row: ObjectLiteral) => unknown {
    return (row) => {
      const value: unknown = column.getEntityValue(row);
      return this.encode(value === undefined ? defaultValueOf(column) : value, column);
    };
  }

  private encode(value: unknown, column: ColumnMetadata): unknown {
    const prepared: unknown = this.driver.preparePersistentValue(value, column);
    return prepared === undefined ? null : this.encodeValue(prepared, column);
  }

  rowOf(raw: RawRow): ObjectLiteral {
    const row = this.metadata.create() as ObjectLiteral;
    for (const column of this.readable) {
      const value: unknown = this.driver.prepareHydratedValue(raw[column.databaseName], column);
      column.setEntityValue(row, value);
    }
    return row;
  }

  /**
   * The columns that are members of a row as JSON, the key first.
   *
   * @throws TypeError when there is one that engines do not write alike
   */
  get jsonMembers(): readonly JsonMember[] {
    const others = this.readable.filter((column) => column !== this.key);
    return [this.key, ...others].map((column) => {
      const kind = JSON_KINDS.get(column.type);
      if (kind === undefined || column.embeddedMetadata || column.transformer) {
        const { propertyPath } = column;
        throw new TypeError(
          `${this.metadata.name}.${propertyPath} cannot be written as JSON by the engine: use page()`,
        );
      }
      return { name: JSON.stringify(column.propertyName), column, kind };
    });
  }

  /**
   * What columns have to hold for properties to be as wanted, by the names of the columns.
   *
   * @throws TypeError when there is no such property
   */
  conditionsOf(wanted: ObjectLiteral): Map<string, unknown> {
    const conditions = Object.entries(wanted).map(([property, value]): [string, unknown] => {
      const column = this.metadata.findColumnWithPropertyPath(property);
      if (column === undefined) throw new TypeError(`${this.metadata.name} has no ${property}`);
      return [column.databaseName, this.encode(value, column)];
    });
    return new Map(conditions);
  }

  /**
   * A key in its one spelling, so that keys can be compared as text.
   *
   * @throws TypeError when no row can have this key
   */
  keyText(key: unknown): string {
    const text = String(key);
    if (this.key.type === 'uuid') return text.toLowerCase();
    if (this.key.type !== 'bigint' || SHORT_INT64.test(text)) return text;
    if (/^-?\d+$/.test(text)) {
      const number = BigInt(text);
      if (BigInt.asIntN(64, number) === number) return String(number);
    }
    throw new TypeError(`${text.slice(0, 40)} is not an int64`);
  }
}

function keyColumn({ name, primaryColumns }: EntityMetadata): ColumnMetadata {
  const [key, ...others] = primaryColumns;
  if (key === undefined || others.length > 0) {
    throw new TypeError(`${name} needs a primary key of one column`);
  }
  return key;
}

function refuseUnfit(metadata: EntityMetadata): void {
  const { name, primaryColumns, columns } = metadata;
  const [key] = primaryColumns;
  const refuse = (reason: string): never => {
    throw new TypeError(`Rows of ${name} cannot be written in groups: ${reason}`);
  };
  const isKeyFit =
    key?.type === 'bigint' || INTEGER_KEYS.has(key?.type) || TEXT_KEYS.has(key?.type);
  if (!isKeyFit) refuse(`the key is ${String(key?.type)}, and not an integer, text or uuid`);
  if (key?.isGenerated === true && key.generationStrategy !== 'uuid') {
    refuse('the database makes the key');
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
function defaultValueOf(column: ColumnMetadata): unknown {
  if (column.isVersion) return 1;
  if (column.isGenerated && column.generationStrategy === 'uuid') return randomUUID();
  const isKnown = typeof column.default !== 'function' && column.transformer === undefined;
  return isKnown ? column.default : undefined;
}

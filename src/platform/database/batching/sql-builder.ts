import { hash } from 'node:crypto';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EntityColumns, Values } from './entity-columns.js';
import {
  type Condition,
  describeShape,
  INDEXED_LENGTH,
  replaceNull,
  type Page,
  type SortKey,
} from './page-conditions.js';
import type { Statement } from './session.js';

/** The texts of the columns of a key: `key0`, `key1`, ... */
export type KeyTexts = Readonly<Record<string, string>>;

/** The SQL that differs between engines. */
export interface SqlDialect {
  /** The placeholder of the parameter with this number, from 1. */
  parameter(number: number): string;

  /** The rows of the first parameter, as the table `given`. */
  givenRows(columns: EntityColumns): string;

  /** The place of a row of `given` in the order of the parameter. */
  readonly givenPlace: string;

  /** The value of a column in a row of `given`. */
  givenValue(columns: EntityColumns, column: ColumnMetadata): string;

  /** Makes the parameter of {@link givenRows}. */
  encodeRows(columns: EntityColumns, rows: readonly Values[]): unknown;

  /** A condition that the key of a row is among the keys of the first parameter. */
  isAmongKeys(columns: EntityColumns): string;

  /** Makes the parameter of {@link isAmongKeys}. */
  encodeKeys(columns: EntityColumns, keys: readonly string[]): unknown;

  /** The clause that locks the rows of a SELECT; may be empty. */
  readonly lockSelected: string;

  /** The ORDER BY of inserted rows, which prevents deadlocks between commits; may be empty. */
  insertOrder(columns: EntityColumns): string;

  /** The text of a column's value, for comparing keys and continuing pages. */
  asText(sql: string, type: unknown): string;

  /** A column in the list of a SELECT, without loss of digits. */
  selected(columns: EntityColumns, column: ColumnMetadata): string;

  /** A condition that two values are the same, where NULL is the same as NULL. */
  isSame(stored: string, given: string): string;

  /** Converts a value given as text, so that it compares with a column. */
  fromText(sql: string, column: ColumnMetadata): string;

  /** The sort expression of a column: text is sorted by code point. */
  sorted(sql: string, type: unknown): string;

  /**
   * Whether the engine searches an index by a comparison of rows, such as (a, b) > (1, 2). Any other
   * engine must return the parts of a UNION ALL one after the other.
   */
  readonly searchesByRow: boolean;

  /** The first code points of a text, with A to Z as small letters. */
  caseless(sql: string, length: string): string;

  /** The hash of a text, which an index holds in place of the text. */
  textHash(sql: string): string;

  /** NULL as a number. */
  readonly noNumber: string;

  /**
   * Draws the next numbers of a key's counter. The parameters are an array of the numbers from 1 to
   * the count, and {@link nameCounter}.
   */
  readonly drawNumbers: string;

  /** The parameters that name the counter of a key. */
  nameCounter(columns: EntityColumns): string[];
}

/**
 * The SQL for many rows of one table at once. Each statement has a constant text, so that it stays
 * prepared.
 */
export class TableSql {
  /** Inserts the rows that cause no conflict. */
  readonly insert: Statement;
  /**
   * The same, but returns no rows: making an object for each takes the driver as long as storing
   * it.
   */
  readonly insertAndCount: Statement;
  /** Inserts all rows, or fails with the conflict. */
  readonly insertAll: Statement;
  /** Compares rows that were not inserted with stored rows. */
  readonly compare: Statement;
  /** Replaces the rows with these keys. */
  readonly update: Statement;
  /** Removes the rows with these keys. */
  readonly remove: Statement;
  /** Reads the rows with these keys. */
  readonly find: Statement;
  /** Reads and locks the rows with these keys. */
  readonly lock: Statement;
  /** Locks the rows with these keys that no other session has locked; reads the keys of the others. */
  readonly lockFree: Statement;
  /** Draws the next numbers of a key's counter. */
  readonly drawNumbers: Statement;
  private readonly pages = new Map<string, Statement>();

  constructor(
    readonly columns: EntityColumns,
    readonly dialect: SqlDialect,
  ) {
    const { table, inserted, replaced, keys } = columns;
    const given = dialect.givenRows(columns);
    const names = inserted.map((column) => columns.quoteColumn(column)).join(', ');
    const values = inserted.map((column) => this.givenOrDefault(column)).join(', ');
    const insert = `INSERT INTO ${table} (${names}) SELECT ${values} FROM ${given}`;
    const order = dialect.insertOrder(columns);
    const insertNew = `${insert} WHERE ${this.missingParent()} IS NULL ${order}
      ON CONFLICT DO NOTHING`;
    this.insert = this.named('insert', `${insertNew} RETURNING ${this.keyTexts()}`);
    this.insertAndCount = this.named('insertAndCount', insertNew);
    this.insertAll = this.named(
      'insertAll',
      `${insert} WHERE true ${order} RETURNING ${this.keyTexts()}`,
    );
    this.compare = this.named(
      'compare',
      `
      SELECT stored.${this.name(keys[0])} IS NOT NULL AS "isStored", ${this.missingParent()} AS missing,
        ${this.areSame()} AS "isIdentical"
      FROM ${given} LEFT JOIN ${table} AS stored ON ${this.hasGivenKey('stored')}
      ORDER BY ${dialect.givenPlace}`,
    );
    const assignments = replaced.map((column) => `${this.name(column)} = ${this.assigned(column)}`);
    const isAmongKeys = dialect.isAmongKeys(columns);
    const keyNames = keys.map((key) => this.name(key)).join(', ');
    const inOrder = `ORDER BY ${keyNames}`;
    const locks = dialect.lockSelected !== '';
    // All commits lock rows in the same order, which prevents deadlocks.
    const lockFirst = (condition: string): string =>
      locks
        ? `WITH locked AS MATERIALIZED (
            SELECT ${keyNames} FROM ${table} WHERE ${condition} ${inOrder} ${dialect.lockSelected})`
        : '';
    const givenKeys = `SELECT ${keys.map((key) => this.given(key)).join(', ')} FROM ${given}`;
    this.update = this.named(
      'update',
      `
      ${lockFirst(`(${keyNames}) IN (${givenKeys})`)}
      UPDATE ${table} AS stored SET ${assignments.join(', ')}
      FROM ${given} ${locks ? `JOIN locked ON ${this.hasGivenKey('locked')}` : ''}
      WHERE ${this.hasGivenKey('stored')} RETURNING ${this.keyTexts(locks ? 'stored.' : '')}`,
    );
    this.remove = this.named(
      'remove',
      `
      ${lockFirst(isAmongKeys)}
      DELETE FROM ${table}
      WHERE ${locks ? `(${keyNames}) IN (SELECT ${keyNames} FROM locked)` : isAmongKeys}
      RETURNING ${this.keyTexts()}`,
    );
    this.drawNumbers = this.named('draw', dialect.drawNumbers);
    const find = `${this.select()} WHERE ${isAmongKeys}`;
    this.find = this.named('find', find);
    this.lock = this.named('lock', `${find} ${inOrder} ${dialect.lockSelected}`);
    this.lockFree = this.named(
      'lockFree',
      `
      WITH free AS MATERIALIZED (
        SELECT ${keyNames} FROM ${table} WHERE ${isAmongKeys} ${inOrder}
        ${locks ? `${dialect.lockSelected} SKIP LOCKED` : ''})
      SELECT ${this.keyTexts()} FROM ${table}
      WHERE ${isAmongKeys} AND (${keyNames}) NOT IN (SELECT ${keyNames} FROM free)`,
    );
  }

  /** Whether no other session can write between two statements, even outside a transaction. */
  get hasOneWriter(): boolean {
    return this.dialect.lockSelected === '';
  }

  /** Makes the parameter of a statement on rows. */
  encodeRows(rows: readonly Values[]): unknown[] {
    return [this.dialect.encodeRows(this.columns, rows)];
  }

  /** Makes the parameter of a statement on keys. */
  encodeKeys(keys: readonly string[]): unknown[] {
    return [this.dialect.encodeKeys(this.columns, keys)];
  }

  /**
   * Names a statement after its text, since a connection may keep only one statement of a name. The
   * name has less than 64 bytes: servers truncate longer names.
   */
  private named(operation: string, text: string): Statement {
    return { name: `${operation} ${hash('sha256', text).slice(0, 16)}`, text };
  }

  /** Reads all columns of the table. */
  select(): string {
    const { columns, dialect } = this;
    const selected = columns.readable.map((column) => dialect.selected(columns, column));
    return `SELECT ${selected.join(', ')} FROM ${columns.table}`;
  }

  /** Reads the rows of a page. The parameters are its limit and its values. */
  rows(page: Page): Statement {
    return this.shaped('rows', page, () => {
      const selected = [
        ...this.columns.readable.map((column) => this.dialect.selected(this.columns, column)),
        ...this.sortTexts(page).map((text, index) => `${text} AS page_sort${index}`),
      ];
      const select = this.selectPage(selected.join(', '), page, (index) =>
        this.dialect.parameter(index + 2),
      );
      return `${select} LIMIT ${this.dialect.parameter(1)}`;
    });
  }

  /**
   * Caches the statement for pages of a shape, since writing it takes as long as reading a page.
   */
  shaped(operation: string, page: Page, write: () => string): Statement {
    const shape = `${operation} ${describeShape(page)}`;
    const known = this.pages.get(shape);
    if (known !== undefined) return known;
    const statement = this.named(operation, write());
    this.pages.set(shape, statement);
    return statement;
  }

  /**
   * Writes the SELECT of the rows of a page, to which the caller adds the LIMIT.
   *
   * @param value the SQL of the value with this index; see `listValues()`
   */
  selectPage(selected: string, page: Page, value: (index: number) => string): string {
    const { order, isDescending } = page;
    let index = 0;
    const next = (): string => value(index++);
    const conditions = page.conditions.map((condition) => this.condition(condition, next));
    const readRow = (): string[] =>
      order.map(({ column, ignoresCase }) =>
        ignoresCase ? next() : this.dialect.fromText(next(), column),
      );
    const after = page.after && readRow();
    const until = page.until && readRow();

    const keys = order.map((key) => this.sortExpression(key));
    const end = until === undefined ? [] : compareRows(keys, isDescending ? '>=' : '<=', until);
    /** Sorts the rows by all keys but the first, of which each has one value. */
    const select = (start: readonly string[], equalKeys = 0): string => {
      // An engine may search an index only by the first condition. The start of a page is narrower
      // than a prefix.
      const where = [...start, ...end, ...conditions].join(' AND ') || 'true';
      const sorted = keys.slice(equalKeys).map((key) => (isDescending ? `${key} DESC` : key));
      return `SELECT ${selected} FROM ${this.columns.table} WHERE ${where} ORDER BY ${sorted.join(', ')}`;
    };

    const operator = isDescending ? '<' : '>';
    if (after === undefined) return select([]);
    if (keys.length === 1 || this.dialect.searchesByRow) {
      return select(compareRows(keys, operator, after));
    }
    // Such an engine would read all rows with the first sort value of the row before. So the first
    // SELECT reads the rows that have all its sort values but the last, the next one those that
    // have all but the last two, and so on.
    const parts = keys.map((key, place) => {
      const equal = keys.slice(0, place).map((other, index) => `${other} = ${after[index]}`);
      return select([...equal, `${key} ${operator} ${after[place]}`], place);
    });
    // Without a LIMIT, a subquery may lose its order.
    const ordered = parts.toReversed().map((part) => `SELECT * FROM (${part} LIMIT -1)`);
    return ordered.join(' UNION ALL ');
  }

  /** The sort values as text, so that the next page can begin after a row. */
  sortTexts({ order }: Page): string[] {
    return order.map((key) => this.dialect.asText(this.sortExpression(key), key.column.type));
  }

  private sortExpression({ column, ignoresCase }: SortKey): string {
    return sortExpression(this.dialect, this.qualify(column), column, ignoresCase);
  }

  private condition({ key, operator, value }: Condition, next: () => string): string {
    const { dialect } = this;
    const { column } = key;
    const name = this.qualify(column);
    if (value === null) return `${name} IS NULL`;
    switch (operator) {
      case 'hash':
        return `${dialect.textHash(name)} = ${dialect.textHash(next())}`;
      case 'starts':
        return `${dialect.caseless(name, `length(${next()})`)} = ${next()}`;
      case '=':
        if (!key.ignoresCase) return `${name} = ${dialect.fromText(next(), column)}`;
        return `${this.sortExpression(key)} = ${next()}`;
      default: {
        const given = key.ignoresCase ? next() : dialect.fromText(next(), column);
        const isGiven = column.isNullable ? ` AND ${name} IS NOT NULL` : '';
        return `${this.sortExpression(key)} ${operator} ${given}${isGiven}`;
      }
    }
  }

  /**
   * Names a column with its table, since the name alone could be an alias in the list of a SELECT.
   */
  private qualify(column: ColumnMetadata): string {
    return `${this.columns.table}.${this.name(column)}`;
  }

  private name(column: ColumnMetadata | undefined): string {
    return column === undefined ? '' : this.columns.quoteColumn(column);
  }

  private given(column: ColumnMetadata): string {
    return this.dialect.givenValue(this.columns, column);
  }

  /** The texts of the key's columns, as `key0`, `key1`, ... */
  private keyTexts(prefix = ''): string {
    return this.columns.keys
      .map(
        (key, index) => `${this.dialect.asText(prefix + this.name(key), key.type)} AS key${index}`,
      )
      .join(', ');
  }

  private hasGivenKey(alias: string): string {
    return this.columns.keys
      .map((key) => `${alias}.${this.name(key)} = ${this.given(key)}`)
      .join(' AND ');
  }

  private areSame(): string {
    return this.columns.compared
      .map((column) => {
        const given = this.given(column);
        const isSame = this.dialect.isSame(`stored.${this.name(column)}`, given);
        // A row that leaves out a column is the same with whatever default the store has given it.
        return this.getStoreDefault(column) === undefined
          ? isSame
          : `(${given} IS NULL OR ${isSame})`;
      })
      .join(' AND ');
  }

  private givenOrDefault(column: ColumnMetadata): string {
    const given = this.given(column);
    const storeDefault = this.getStoreDefault(column);
    return storeDefault === undefined ? given : `coalesce(${given}, ${storeDefault})`;
  }

  private getStoreDefault(column: ColumnMetadata): string | undefined {
    return column.isNullable ? undefined : this.columns.driver.normalizeDefault(column);
  }

  private assigned(column: ColumnMetadata): string {
    const stored = `stored.${this.name(column)}`;
    if (column.isPrimary) return stored;
    if (column.isVersion) return `${stored} + 1`;
    if (column.isUpdateDate) return this.columns.driver.normalizeDefault(column) ?? stored;
    return this.givenOrDefault(column);
  }

  /** The index of the foreign key that refers to a missing row; NULL if there is none. */
  private missingParent(): string {
    const cases = this.columns.foreignKeys.map((foreignKey, index) => {
      const values = foreignKey.columns.map((column) => this.given(column));
      const isGiven = values.map((value) => `${value} IS NOT NULL`).join(' AND ');
      const refers = foreignKey.referencedColumns
        .map((column, place) => `parent.${this.name(column)} = ${values[place] ?? 'NULL'}`)
        .join(' AND ');
      const parent = this.columns.quoteTable(foreignKey.referencedEntityMetadata);
      return `WHEN ${isGiven} AND NOT EXISTS (SELECT 1 FROM ${parent} AS parent WHERE ${refers}) THEN ${index}`;
    });
    return cases.length === 0 ? this.dialect.noNumber : `CASE ${cases.join(' ')} END`;
  }

  /** Reads the keys that a statement has returned. */
  readKeys(rows: readonly KeyTexts[]): Set<string> {
    const { columns } = this;
    if (columns.keys.length === 1) return new Set(rows.map(({ key0 = '' }) => key0));
    return new Set(
      rows.map((row) => columns.joinKey(columns.keys.map((_, index) => row[`key${index}`]))),
    );
  }
}

/** Writes the conditions that compare the sort keys with the values of a row. */
function compareRows(
  keys: readonly string[],
  operator: '<' | '>' | '<=' | '>=',
  values: readonly string[],
): string[] {
  const whole = `(${keys.join(', ')}) ${operator} (${values.join(', ')})`;
  // Not every engine searches an index by more than the first sort key.
  return keys.length === 1 ? [whole] : [`${keys[0]} ${operator[0]}= ${values[0]}`, whole];
}

/**
 * Writes the sort expression of a column, which gives the same order on every engine: text by code
 * point, and NULL as the lowest value. An index has to be on the same expression.
 */
export function sortExpression(
  dialect: SqlDialect,
  name: string,
  { type, isNullable }: { readonly type: unknown; readonly isNullable: boolean },
  ignoresCase: boolean,
): string {
  const value = ignoresCase
    ? dialect.caseless(name, String(INDEXED_LENGTH))
    : dialect.sorted(name, type);
  return isNullable ? replaceNull(value, ignoresCase ? 'text' : type) : value;
}

import { hash } from 'node:crypto';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EmptyWrites } from '../engine/store-data-source.js';
import type { SqlDialect, Statement } from '../engine/engine.js';
import { type EntityColumns, isBytes, type Values } from '../entities/entity-columns.js';
import {
  type Condition,
  describeShape,
  listValues,
  MAX_PAGES,
  MAX_ROWS,
  type Page,
  type SortKey,
} from './pages.js';
import { listJsonColumns, writeObject } from '../engine/row-json.js';

/** The most bytes that a date, a number or another value without a length has as JSON. */
const VALUE_BYTES = 36;

/** How the rows of a page are written as JSON. */
export interface JsonFormat {
  readonly name: 'page' | 'piece';
  readonly separator: ',' | '\n';
  readonly maxBytes: number;
}

/** A page to read as JSON. */
export interface JsonRequest {
  readonly page: Page;
  readonly format: JsonFormat;
}

/**
 * The SQL for many rows of one table at once. Each statement has a constant text, so that it stays
 * prepared.
 */
export class TableSql {
  /** Inserts the rows whose keys are free, and returns the keys. */
  readonly insert: Statement;
  /** Inserts rows, and returns the keys of all that no trigger leaves out. */
  readonly insertFree: Statement;
  /** Inserts rows whose keys the store counts up, and returns the rows. */
  readonly add: Statement;
  /** Reads the rows with these keys. */
  readonly find: Statement;
  /** Reads the rows with these keys, and keeps them from being removed. */
  readonly keep: Statement;
  /** Finds the foreign key of a row that refers to a missing row, by its index. */
  readonly missingParent: Statement;
  /** Finds the rows with these keys that have these bytes. */
  readonly findBytes: Statement;
  /** A condition that the key of a row is among the keys of the first parameter. */
  private readonly isAmongKeys: string;
  private readonly hasKeyArray: boolean;
  private readonly statements = new Map<string, Statement>();

  constructor(
    readonly columns: EntityColumns,
    readonly dialect: SqlDialect,
  ) {
    const { table, keys } = columns;
    // Commits insert keys in the same order, which prevents deadlocks where there are many writers.
    const sorted = keys.map((key) => dialect.sorted(this.given(key), key.type, false));
    const order = dialect.locks && `ORDER BY ${sorted.join(', ')}, ${dialect.givenPlace}`;
    const insert = `${this.insertGiven(columns.all)} ${order ?? ''}`;
    const returning = `RETURNING ${this.listSelected(keys)}`;
    this.insert = this.named(
      'insert',
      `${insert}
       ON CONFLICT (${this.list(keys)}) DO NOTHING ${returning}`,
    );
    this.insertFree = this.named('insert free', `${insert} ${returning}`);
    this.add = this.named(
      'add',
      `${this.insertGiven(columns.all.filter((column) => column !== columns.counter))}
       ORDER BY ${dialect.givenPlace} RETURNING ${this.listSelected(columns.plain)}`,
    );
    const values = keys.map(({ type }, index) => dialect.givenValue(index, type)).join(', ');
    this.hasKeyArray = dialect.takesArrays && keys.length === 1;
    this.isAmongKeys = this.hasKeyArray
      ? `${this.list(keys)} = ANY(${dialect.parameter(1)})`
      : `(${this.list(keys)}) IN (SELECT ${values} FROM ${dialect.givenRows})`;
    const find = `SELECT ${this.listSelected(columns.plain)} FROM ${table} WHERE ${this.isAmongKeys}`;
    this.find = this.named('find', find);
    this.keep = this.named('keep', `${find} ${dialect.locks?.toKeep ?? ''}`);
    this.missingParent = this.named(
      'parent',
      `SELECT ${this.findMissingParent()} AS missing FROM ${dialect.givenRows}`,
    );
    const hasBytes = columns.bytes.map(
      (column) => `${this.name(column)} IS NOT DISTINCT FROM ${this.given(column)}`,
    );
    this.findBytes = this.named(
      'bytes',
      `SELECT ${this.listSelected(keys)} FROM ${table} WHERE ${[this.isAmongKeys, ...hasBytes].join(' AND ')}`,
    );
  }

  /** Writes the SQL that inserts the values of some columns of the given rows. */
  private insertGiven(some: readonly ColumnMetadata[]): string {
    const given = some.map((column) => this.given(column));
    // Without a condition, an engine would take ON CONFLICT for a condition of a join.
    return `INSERT INTO ${this.columns.table} (${this.list(some)})
      SELECT ${given.join(', ')} FROM ${this.dialect.givenRows} WHERE true`;
  }

  /**
   * Inserts or replaces rows in the order in which they are given, each as often as it is given. Not
   * every engine can: see {@link SqlDialect.findTriggers}.
   */
  putInOrder(): Statement {
    const { columns, dialect } = this;
    return this.cached('put', '', () => {
      const replacements = columns.replaced.map(
        (column) => `${this.name(column)} = excluded.${this.name(column)}`,
      );
      return `${this.insertGiven(columns.all)} ORDER BY ${dialect.givenPlace}
        ON CONFLICT (${this.list(columns.keys)}) DO UPDATE SET ${replacements.join(', ')}`;
    });
  }

  /** Reads and locks the rows with these keys. */
  lock(waitsForLocks: boolean, purpose: 'toChange' | 'toRemove' = 'toChange'): Statement {
    const clauses = this.lockClauses(purpose, waitsForLocks);
    return this.cached('lock', clauses, () => `${this.find.text} ${clauses}`);
  }

  /** Removes the rows with these keys, and returns the keys. */
  remove(waitsForLocks: boolean): Statement {
    const { columns, isAmongKeys } = this;
    const clauses = this.lockClauses('toRemove', waitsForLocks);
    return this.cached('remove', clauses, () => {
      const keys = this.list(columns.keys);
      const remove = `DELETE FROM ${columns.table} WHERE`;
      const returning = `RETURNING ${this.listSelected(columns.keys)}`;
      if (clauses === '') return `${remove} ${isAmongKeys} ${returning}`;
      return `
        WITH locked AS MATERIALIZED (SELECT ${keys} FROM ${columns.table} WHERE ${isAmongKeys} ${clauses})
        ${remove} (${keys}) IN (SELECT ${keys} FROM locked) ${returning}`;
    });
  }

  /**
   * Replaces rows, and returns the keys. If the table has columns of bytes, there is one row: bytes
   * that it leaves out stay as they are.
   *
   * @returns the statement and its parameters
   */
  update(rows: readonly Values[], waitsForLocks: boolean): [Statement, unknown[]] {
    const { columns, dialect } = this;
    const { table, keys } = columns;
    const [first = []] = rows;
    const isLeftOut = (column: ColumnMetadata): boolean =>
      isBytes(column) && first[columns.all.indexOf(column)] === undefined;
    const given = columns.replaced.filter((column) => !isLeftOut(column));
    // An UPDATE needs an assignment.
    const replaced = given.length === 0 ? keys : given;
    const bytes = replaced.filter(isBytes);
    const clauses = this.lockClauses('toChange', waitsForLocks);
    const statement = this.cached('update', `${this.list(replaced)} ${clauses}`, () => {
      const assignments = replaced.map(
        (column) => `${this.name(column)} = ${this.given(column, bytes)}`,
      );
      const equalities = keys.map((key) => `${columns.qualifyColumn(key)} = ${this.given(key)}`);
      const hasKey = equalities.join(' AND ');
      const locked = `SELECT given_rows.* FROM ${table} JOIN ${dialect.givenRows} ON ${hasKey} ${clauses}`;
      const source = clauses === '' ? dialect.givenRows : `(${locked}) AS given_rows`;
      return `UPDATE ${table} SET ${assignments.join(', ')} FROM ${source}
        WHERE ${hasKey} RETURNING ${this.listSelected(keys)}`;
    });
    return [statement, this.encodeRows(rows, bytes)];
  }

  /** Writes that store nothing: the server refuses them if the table no longer takes rows. */
  emptyWrites(): EmptyWrites {
    const insert = this.columns.counter === undefined ? this.insert : this.add;
    return { insert: [insert, this.encodeRows([])], update: this.update([[]], false) };
  }

  /**
   * The clauses by which a SELECT locks its rows; empty where there is only one writer. All commits
   * lock rows in the same order, which prevents deadlocks.
   *
   * @param waitsForLocks false leaves out the rows that other sessions have locked
   */
  private lockClauses(purpose: 'toChange' | 'toRemove', waitsForLocks: boolean): string {
    const { columns, dialect } = this;
    if (dialect.locks === undefined) return '';
    const keys = columns.keys.map((key) => columns.qualifyColumn(key)).join(', ');
    return `ORDER BY ${keys} ${dialect.locks[purpose]} ${waitsForLocks ? '' : dialect.locks.skip}`;
  }

  /** Reads the bytes of a column in the rows with these keys. */
  readBytes(column: ColumnMetadata): Statement {
    const { columns, isAmongKeys } = this;
    const name = this.name(column);
    return this.cached(
      'read',
      name,
      () => `SELECT ${name} AS bytes FROM ${columns.table} WHERE ${isAmongKeys}`,
    );
  }

  /**
   * Makes the parameters of a statement on rows: the rows as JSON, and the bytes of the first row,
   * each a parameter of its own.
   */
  encodeRows(rows: readonly Values[], bytes = this.columns.bytes): unknown[] {
    const { columns } = this;
    const [first = []] = rows;
    if (columns.bytes.length === 0) return [JSON.stringify(rows)];
    const plain = rows.map((values) =>
      values.map((value) => (Buffer.isBuffer(value) ? null : value)),
    );
    const given = bytes.map((column) => first[columns.all.indexOf(column)] ?? null);
    return [JSON.stringify(plain), ...given];
  }

  encodeKeys(keys: readonly string[]): unknown[] {
    if (this.hasKeyArray) return [keys];
    return [JSON.stringify(keys.map((key) => this.columns.splitKey(key)))];
  }

  /**
   * Names a statement after its text, since a connection may keep only one statement of a name. The
   * name has less than 64 bytes: servers truncate longer names.
   */
  private named(operation: string, text: string): Statement {
    return { name: `${operation} ${hash('sha256', text).slice(0, 16)}`, text };
  }

  /** Reads the rows of a page. The parameters are its limit and its values. */
  rows(page: Page): Statement {
    const { columns, dialect } = this;
    return this.cached('rows', describeShape(page), () => {
      const selected = [
        this.listSelected(columns.plain),
        ...this.sortTexts(page).map((text, index) => `${text} AS page_sort${index}`),
      ];
      const value = (index: number): string => dialect.parameter(index + 2);
      return `${this.selectPage(selected.join(', '), page, value)} LIMIT ${dialect.parameter(1)}`;
    });
  }

  /**
   * Reads pages of one shape and limit as JSON: `text`, or NULL if the rows of a page exceed
   * `maxBytes`, and `ends`, the sort values of the last row and of the row after it. Engines know
   * the length of a text without reading it. See {@link encodePages} for the parameters.
   */
  json(request: JsonRequest): Statement {
    const { page, format } = request;
    return this.cached(format.name, describeShape(page), () => this.writePages(request));
  }

  /**
   * Whether a statement reads only one page. With the values of several pages in a table, an engine
   * would not know how many rows match them, and pages would wait for the pieces of exports.
   */
  isReadAlone({ page, format }: JsonRequest): boolean {
    const isFiltered = page.conditions.length > 0;
    return this.dialect.plansForValues && (isFiltered || format.name === 'piece');
  }

  private writePages(request: JsonRequest): string {
    const { columns, dialect } = this;
    const { page, format } = request;
    const members = listJsonColumns(columns);
    const isAlone = this.isReadAlone(request);
    const limit = dialect.parameter(isAlone ? 1 : 2);
    const given = (index: number): string =>
      isAlone ? dialect.parameter(index + 2) : dialect.givenValue(index, 'text');
    const read = (selected: string): string => this.selectPage(selected, page, given);
    // A page is read once if all that is made of it can be columns of one subquery. Its values are
    // made where they are aggregated, which takes three quarters of the time.
    const collect = (
      aggregate: (values: string) => string,
      value: string,
      count: string,
      offset: string,
    ): string =>
      dialect.hasLateral
        ? `(SELECT ${aggregate(value)} FROM
            (SELECT * FROM page LIMIT (SELECT ${count}) OFFSET (SELECT ${offset})) AS found)`
        : `(SELECT ${aggregate('value')} FROM
            (${read(`${value} AS value`)} LIMIT ${count} OFFSET ${offset}) AS found)`;
    const sum = (values: string): string => `coalesce(sum(${values}), 0)`;
    const join = (values: string): string =>
      `coalesce(string_agg(${values}, '${format.separator}'), '')`;
    const list = (values: string): string => dialect.jsonArrayOf(values);

    const bytes = collect(sum, this.countBytes(members), limit, '0');
    const json = collect(join, writeObject(columns, members, dialect), limit, '0');
    const sorted = dialect.jsonArray(this.sortTexts(page));
    const ends = collect(list, sorted, '2', `${limit} - 1`);
    const made = `SELECT CASE WHEN ${limit} = 1 OR ${bytes} <= ${format.maxBytes} THEN ${json} END AS text,
      ${ends} AS ends`;
    if (!dialect.hasLateral) {
      return `${made} FROM ${dialect.givenRows} ORDER BY ${dialect.givenPlace}`;
    }
    // With a known limit, the planner plans each page anew, which takes as long as reading it. With
    // an unknown one it expects a tenth of all rows, so a constant bounds them first.
    const once = `WITH page AS MATERIALIZED (
      SELECT * FROM (${read(this.list(columns.plain))} LIMIT ${MAX_ROWS + 1}) AS bounded
      LIMIT (SELECT ${limit} + 1)) ${made}`;
    if (isAlone) return once;
    // Without the limit, the planner expects so many pages that it compiles the statement, which takes
    // far longer than the pages.
    const pages = `SELECT * FROM ${dialect.givenRows} ORDER BY ${dialect.givenPlace} LIMIT ${MAX_PAGES}`;
    return `SELECT made.* FROM (${pages}) AS given_rows, LATERAL (${once}) AS made
      ORDER BY ${dialect.givenPlace}`;
  }

  /** Makes the parameters of {@link json} for pages of one shape and limit. */
  encodePages(requests: readonly JsonRequest[]): unknown[] {
    const limit = requests[0]?.page.limit;
    const values = requests.map(({ page }) => listValues(page));
    const isAlone = requests.some((request) => this.isReadAlone(request));
    return isAlone ? [limit, ...values.flat()] : [JSON.stringify(values), limit];
  }

  /** Writes the SQL for about how many bytes a row has as JSON. */
  private countBytes(members: readonly ColumnMetadata[]): string {
    const lengths = members.map((column) => {
      const fixed = JSON.stringify(column.propertyName).length + '"",:'.length;
      return column.type === 'text'
        ? `coalesce(octet_length(${this.name(column)}), 0) + ${fixed}`
        : fixed + VALUE_BYTES;
    });
    return lengths.join(' + ');
  }

  /** Caches a statement by its shape, since writing it takes as long as reading a page. */
  private cached(operation: string, shape: string, write: () => string): Statement {
    const key = `${operation} ${shape}`;
    const known = this.statements.get(key);
    if (known !== undefined) return known;
    const statement = this.named(operation, write());
    this.statements.set(key, statement);
    return statement;
  }

  /**
   * Writes the SELECT of the rows of a page, to which the caller adds the LIMIT.
   *
   * @param value the SQL of the value with this index; see `listValues()`
   */
  selectPage(selected: string, page: Page, value: (index: number) => string): string {
    const { order, isDescending } = page;
    // The values are taken in the order in which listValues() lists them.
    let index = 0;
    const next = (): string => value(index++);
    const conditions = page.conditions.map((condition) => this.condition(condition, next));
    const readRow = (): string[] =>
      order.map(({ column, ignoresCase }) =>
        ignoresCase ? next() : this.dialect.fromText(next(), column),
      );
    const after = page.after && readRow();

    const keys = order.map((key) => this.sortExpression(key));
    /** @param equalKeys how many of the first keys have the same value in all of these rows */
    const select = (start: readonly string[], equalKeys = 0): string => {
      // An engine may search an index only by the first condition. The start of a page is narrower
      // than a prefix.
      const where = [...start, ...conditions].join(' AND ') || 'true';
      const sorted = keys.slice(equalKeys).map((key) => (isDescending ? `${key} DESC` : key));
      return `SELECT ${selected} FROM ${this.columns.table} WHERE ${where} ORDER BY ${sorted.join(', ')}`;
    };

    const operator = isDescending ? '<' : '>';
    if (after === undefined) return select([]);
    if (keys.length === 1 || this.dialect.searchesByRow) {
      return select([`(${keys.join(', ')}) ${operator} (${after.join(', ')})`]);
    }
    // Such an engine would read all rows with the first sort value of the row before. It gets, for two
    // keys: a = 1 AND b > 2 ORDER BY b, and then a > 1 ORDER BY a, b.
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
    return order.map((key) =>
      this.dialect.asText(this.sortExpression(key, this.name(key.column)), key.column.type),
    );
  }

  private sortExpression(
    { column, ignoresCase }: SortKey,
    sql = this.columns.qualifyColumn(column),
  ): string {
    return this.dialect.sorted(sql, column.type, ignoresCase);
  }

  private condition({ key, operator, value }: Condition, next: () => string): string {
    const { column, ignoresCase } = key;
    if (value === null) return `${this.columns.qualifyColumn(column)} IS NULL`;
    const given = ignoresCase ? next() : this.dialect.fromText(next(), column);
    // Equality needs no order, and an index on the key of another table has none.
    const isEqual = operator === '=' && !ignoresCase;
    const stored = isEqual ? this.columns.qualifyColumn(column) : this.sortExpression(key);
    return `${stored} ${operator} ${given}`;
  }

  private list(some: readonly ColumnMetadata[]): string {
    return some.map((column) => this.name(column)).join(', ');
  }

  /** Writes a list of columns to read or to return. */
  private listSelected(some: readonly ColumnMetadata[]): string {
    return some.map((column) => this.dialect.selected(this.columns, column)).join(', ');
  }

  private name(column: ColumnMetadata): string {
    return this.columns.quoteColumn(column);
  }

  /** @param bytes the columns of bytes that the statement has parameters for */
  private given(column: ColumnMetadata, bytes = this.columns.bytes): string {
    // The first parameter has the other columns of all rows: see encodeRows().
    return isBytes(column)
      ? this.dialect.givenBytes(bytes.indexOf(column) + 2)
      : this.dialect.givenValue(this.columns.all.indexOf(column), column.type);
  }

  /** The index of the foreign key that refers to a missing row; NULL if there is none. */
  private findMissingParent(): string {
    const cases = this.columns.metadata.foreignKeys.map((foreignKey, index) => {
      const values = foreignKey.columns.map((column) => this.given(column));
      const isGiven = values.map((value) => `${value} IS NOT NULL`).join(' AND ');
      const refers = foreignKey.referencedColumns
        .map((column, place) => `parent.${this.name(column)} = ${values[place] ?? 'NULL'}`)
        .join(' AND ');
      const parent = this.columns.quoteTable(foreignKey.referencedEntityMetadata);
      return `WHEN ${isGiven} AND NOT EXISTS (SELECT 1 FROM ${parent} AS parent WHERE ${refers}) THEN ${index}`;
    });
    return cases.length === 0 ? 'NULL' : `CASE ${cases.join(' ')} END`;
  }
}

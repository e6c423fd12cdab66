import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { type Page, shapeOf, withinBytes } from '../batching/bulk-table.js';
import type { EntityColumns } from '../batching/entity-columns.js';

/**
 * The SQL for many rows of one table. They travel as one JSON parameter, so that a statement has a
 * constant text and no limit on parameters applies. Of each row, the parameter has an array with the
 * values of the inserted columns; a 64-bit integer is a decimal string there, which the column's
 * type makes an integer of.
 */
export class SqliteSql {
  /** Inserts the rows that conflict with nothing. */
  readonly insert: string;
  /** Inserts all, or fails. */
  readonly insertAll: string;
  /** Why rows were not inserted. */
  readonly compare: string;
  /** Of each row, the parameter has its key, what is expected of it or null, and its new values. */
  readonly update: string;
  /** Of each row, the parameter has its key, and what is expected of it or null. */
  readonly remove: string;
  /** The parameter is an array of keys. */
  readonly find: string;
  private readonly table: string;
  private readonly key: string;
  /** The statements of pages, which are long: to make one takes as long as to read the page. */
  private readonly pages = new Map<string, string>();

  constructor(private readonly columns: EntityColumns) {
    const { table, inserted, replaced } = columns;
    const key = this.name(columns.key);
    this.table = table;
    this.key = key;
    const returning = `RETURNING CAST(${key} AS TEXT) AS key`;
    const names = inserted.map((column) => this.name(column)).join(', ');
    const values = inserted.map((column) => this.orDefault(column, this.value(column))).join(', ');
    const insert = `INSERT INTO ${table} (${names}) SELECT ${values} FROM json_each(?) AS given`;
    this.insert = `${insert} WHERE ${this.missing()} IS NULL ON CONFLICT DO NOTHING ${returning}`;
    this.insertAll = `${insert} WHERE true ${returning}`;
    this.compare = `
      SELECT stored.${key} IS NOT NULL AS "isStored", ${this.missing()} AS missing,
        ${this.areEqual('given.value')} AS "isIdentical"
      FROM json_each(?) AS given
      LEFT JOIN ${table} AS stored ON stored.${key} = ${this.value(columns.key)}
      ORDER BY given.key`;
    const assignments = replaced.map((column) => `${this.name(column)} = ${this.assigned(column)}`);
    this.update = `
      UPDATE ${table} AS stored SET ${assignments.join(', ')}
      FROM json_each(?) AS given WHERE ${this.isMeant()} ${returning}`;
    this.remove = `
      DELETE FROM ${table} WHERE ${key} IN
        (SELECT stored.${key} FROM json_each(?) AS given JOIN ${table} AS stored ON ${this.isMeant()})
      ${returning}`;
    this.find = `${this.select()} WHERE ${key} IN (SELECT value FROM json_each(?))`;
  }

  /** The parameters are the limit, the values to look for, and the key after which to begin. */
  page({ where, after }: Page): string {
    let parameters = 1;
    const conditions = this.conditions(where, () => `?${++parameters}`);
    if (after !== undefined) conditions.push(`${this.key} > ?${++parameters}`);
    return `${this.select()} ${filterOf(conditions)} ORDER BY ${this.table}.${this.key} LIMIT ?1`;
  }

  /**
   * Pages that look for values in the same columns. The parameters are their limit, and of each page
   * an array with the values, and the key after which it begins. Of each page the result has its
   * last key as JSON, a line feed and the array of its rows, or NULL where there are none; and whether
   * others come after them.
   */
  jsonPages(page: Page): string {
    const shape = shapeOf(page);
    const known = this.pages.get(shape);
    if (known !== undefined) return known;
    const columns = [...page.where.keys()];
    const conditions = this.conditions(page.where, (name) =>
      this.given(name, columns.indexOf(name)),
    );
    const begin =
      page.after === undefined ? [] : [`${this.key} > given.value ->> ${columns.length}`];
    const rows = `SELECT ${this.key} AS key, ${this.json()} AS json FROM ${this.table}
      ${filterOf([...conditions, ...begin])} ORDER BY ${this.table}.${this.key} LIMIT ?1`;
    const [{ kind } = { kind: 'string' }] = this.columns.jsonMembers;
    const last = kind === 'string' ? 'json_quote(max(key))' : 'max(key)';
    const text = `SELECT ${last} || char(10) || '[' || group_concat(json, ',') || ']'
      FROM (${withinBytes(rows, page)})`;
    const more = [
      ...conditions,
      `${this.key} > substr(given.text, 1, instr(given.text, char(10)) - 1) ->> '$'`,
    ];
    // An OFFSET keeps SQLite from reading the rows again for each mention of their text.
    const sql = `
      SELECT text, EXISTS (SELECT 1 FROM ${this.table} ${filterOf(more)}) AS "hasMore"
      FROM (SELECT given.key AS place, given.value AS value, (${text}) AS text
        FROM json_each(?2) AS given LIMIT -1 OFFSET 0) AS given
      ORDER BY place`;
    this.pages.set(shape, sql);
    return sql;
  }

  private conditions(where: Page['where'], valueOf: (name: string) => string): string[] {
    return [...where].map(([name, value]) => {
      const column = this.columns.quote(name);
      return value === null ? `${column} IS NULL` : `${column} = ${valueOf(name)}`;
    });
  }

  /** A value in an array that is JSON. */
  private given(name: string, index: number): string {
    const value = `given.value ->> ${index}`;
    const { type } = this.columns.metadata.findColumnWithDatabaseName(name) ?? {};
    return type === 'blob' ? `unhex(${value})` : `(${value})`;
  }

  /** A row as a JSON object, without members for what is NULL. */
  private json(): string {
    const members = this.columns.jsonMembers.map(({ name, column, kind }, index) => {
      const value = kind === 'string' ? `json_quote(${this.name(column)})` : this.name(column);
      const member = `'${index === 0 ? '' : ','}${name.replaceAll("'", "''")}:' || ${value}`;
      return column.isNullable
        ? `CASE WHEN ${this.name(column)} IS NULL THEN '' ELSE ${member} END`
        : member;
    });
    return `'{' || ${members.join(' || ')} || '}'`;
  }

  private select(): string {
    const selected = this.columns.readable.map((column) => {
      const name = this.name(column);
      // The driver reads an integer as a double.
      return column.type === 'bigint' ? `CAST(${name} AS TEXT) AS ${name}` : name;
    });
    return `SELECT ${selected.join(', ')} FROM ${this.table}`;
  }

  private name({ databaseName }: ColumnMetadata): string {
    return this.columns.quote(databaseName);
  }

  /** The value of a column in an array that is JSON. */
  private value(column: ColumnMetadata, array = 'given.value'): string {
    const value = `${array} ->> ${this.columns.inserted.indexOf(column)}`;
    return column.type === 'blob' ? `unhex(${value})` : `(${value})`;
  }

  private orDefault(column: ColumnMetadata, value: string): string {
    const standard = column.isNullable ? undefined : this.columns.driver.normalizeDefault(column);
    return standard === undefined ? value : `coalesce(${value}, ${standard})`;
  }

  private assigned(column: ColumnMetadata): string {
    if (column === this.columns.key) return `stored.${this.key}`;
    if (column.isVersion) return `stored.${this.name(column)} + 1`;
    if (column.isUpdateDate) return this.orDefault(column, 'NULL');
    return this.orDefault(column, this.value(column, '(given.value -> 2)'));
  }

  /** Whether a change is of a stored row that is as expected. */
  private isMeant(): string {
    return `stored.${this.key} = given.value ->> 0
      AND (given.value ->> 1 IS NULL OR (${this.areEqual('(given.value -> 1)')}))`;
  }

  private areEqual(array: string): string {
    return this.columns.compared
      .map((column) => `stored.${this.name(column)} IS ${this.value(column, array)}`)
      .join(' AND ');
  }

  /** The index of the foreign key that refers to a row that is not there; NULL when all are. */
  private missing(): string {
    const cases = this.columns.foreignKeys.map((foreignKey, index) => {
      const values = foreignKey.columns.map((column) => this.value(column));
      const isGiven = values.map((value) => `${value} IS NOT NULL`).join(' AND ');
      const refers = foreignKey.referencedColumns
        .map((column, place) => `parent.${this.name(column)} = ${values[place] ?? 'NULL'}`)
        .join(' AND ');
      const parent = this.columns.quotedTable(foreignKey.referencedEntityMetadata);
      return `WHEN ${isGiven} AND NOT EXISTS (SELECT 1 FROM ${parent} AS parent WHERE ${refers}) THEN ${index}`;
    });
    return cases.length === 0 ? 'NULL' : `CASE ${cases.join(' ')} END`;
  }
}

function filterOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
}

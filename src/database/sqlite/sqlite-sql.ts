import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { Page } from '../bulk-table.js';
import type { EntityColumns } from '../entity-columns.js';

/**
 * The SQL for many rows of one table. They travel as one JSON parameter, so that a statement has a
 * constant text and no limit on parameters applies. Of each row, the parameter has an array with the
 * values of the inserted columns; a 64-bit integer is a decimal string there, which the column's
 * type makes an integer of.
 */
export class SqliteSql {
  /** Inserts what nothing stands in the way of. */
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

  constructor(private readonly columns: EntityColumns) {
    const { table, inserted, replaced } = columns;
    const key = this.name(columns.key);
    this.table = table;
    this.key = key;
    const returning = `RETURNING CAST(${key} AS TEXT) AS key`;
    const names = inserted.map((column) => this.name(column)).join(', ');
    const values = inserted.map((column) => this.orDefault(column, this.value(column))).join(', ');
    // TypeORM gives the rows of such a statement only because it does not begin with its first word.
    const insert = `\nINSERT INTO ${table} (${names}) SELECT ${values} FROM json_each(?) AS given`;
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
    const { filter } = this.filters(where, after);
    return `${this.select()} ${filter} ORDER BY ${this.table}.${this.key} LIMIT ?1`;
  }

  /** With the parameters of a page: its rows as one JSON array, and whether others come after them. */
  jsonPage({ where, after }: Page): string {
    const { filter, rest } = this.filters(where, after);
    const page = `SELECT ${this.key} AS key, ${this.json()} AS json FROM ${this.table} ${filter}
      ORDER BY ${this.table}.${this.key} LIMIT ?1`;
    return `
      SELECT '[' || coalesce(text, '') || ']' AS text, CAST(last AS TEXT) AS last,
        EXISTS (SELECT 1 FROM ${this.table} ${rest}) AS "hasMore"
      FROM (SELECT group_concat(json, ',') AS text, max(key) AS last FROM (${page})) AS json_page`;
  }

  /** Of a page, and of what comes after it. */
  private filters(where: Page['where'], after: unknown): { filter: string; rest: string } {
    let parameters = 1;
    const conditions = [...where].map(([name, value]) => {
      const column = this.columns.quote(name);
      return value === null ? `${column} IS NULL` : `${column} = ?${++parameters}`;
    });
    const begin = after === undefined ? [] : [`${this.key} > ?${++parameters}`];
    const filter = [...conditions, ...begin].join(' AND ');
    return {
      filter: filter === '' ? '' : `WHERE ${filter}`,
      rest: `WHERE ${[...conditions, `${this.key} > json_page.last`].join(' AND ')}`,
    };
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

import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { type Page, shapeOf, withinBytes } from '../batching/bulk-table.js';
import type { EntityColumns } from '../batching/entity-columns.js';

/** What an index on long text holds in place of it. */
export function textHash(text: string): string {
  return `hashtextextended(${text}, 0)`;
}

/** A statement that stays prepared on each connection, under a name. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/**
 * The SQL for many rows of one table. They travel as one JSON parameter, an object for each, so that
 * a statement has a constant text; the table itself says which types they are of.
 */
export class PostgresSql {
  /** Inserts the rows that conflict with nothing. */
  readonly insert: NamedStatement;
  /** Inserts all, or fails. */
  readonly insertAll: NamedStatement;
  /** Why rows were not inserted. */
  readonly compare: NamedStatement;
  /** The parameters are the new rows, and what is expected of each: an empty object for anything. */
  readonly update: NamedStatement;
  /** The parameters are the keys as rows, and what is expected of each: an empty object for anything. */
  readonly remove: NamedStatement;
  /** The parameter is an array of keys. */
  readonly find: NamedStatement;
  private readonly pages = new Map<string, NamedStatement>();
  private readonly table: string;
  private readonly key: string;

  constructor(private readonly columns: EntityColumns) {
    const { table, inserted, replaced } = columns;
    const key = this.name(columns.key);
    this.table = table;
    this.key = key;
    const names = inserted.map((column) => this.name(column)).join(', ');
    const values = inserted.map((column) => this.given(column)).join(', ');
    const insert = `INSERT INTO ${table} (${names}) SELECT ${values} FROM ${this.rows('$1')} AS given`;
    // Commits that wait for each other's keys would never end; in one order they do not.
    const order = `ORDER BY given.${key}`;
    this.insert = this.named(
      'insert',
      `${insert} WHERE ${this.missing()} IS NULL ${order}
      ON CONFLICT DO NOTHING RETURNING ${key}::text AS key`,
    );
    this.insertAll = this.named('insertAll', `${insert} ${order} RETURNING ${key}::text AS key`);
    this.compare = this.named(
      'compare',
      `
      SELECT stored.${key} IS NOT NULL AS "isStored", ${this.missing()} AS missing,
        ${this.areEqual('given')} AS "isIdentical"
      FROM ${this.rows('$1')} WITH ORDINALITY AS given
      LEFT JOIN ${table} AS stored ON stored.${key} = given.${key}
      ORDER BY given.ordinality`,
    );
    const assignments = replaced.map((column) => `${this.name(column)} = ${this.assigned(column)}`);
    this.update = this.named(
      'update',
      `
      ${this.locked()}
      UPDATE ${table} AS stored SET ${assignments.join(', ')} FROM ${this.meant()}
      RETURNING stored.${key}::text AS key`,
    );
    this.remove = this.named(
      'remove',
      `
      ${this.locked()}
      DELETE FROM ${table} AS stored USING ${this.meant()} RETURNING stored.${key}::text AS key`,
    );
    this.find = this.named('find', `${this.select()} WHERE ${key} = ANY($1)`);
  }

  /** The parameters are the limit, the values to look for, and the key after which to begin. */
  page(page: Page): NamedStatement {
    return this.pageNamed(`rows ${shapeOf(page)}`, () => {
      const { filter } = this.filters(page);
      return `${this.select()} ${filter} ORDER BY ${this.key} LIMIT $1`;
    });
  }

  /** With the parameters of a page: its rows as one JSON array, and whether others come after them. */
  jsonPage(page: Page): NamedStatement {
    return this.pageNamed(`json ${shapeOf(page)}`, () => {
      const { filter, rest } = this.filters(page);
      const rows = `SELECT ${this.key} AS key, ${this.json()} AS json FROM ${this.table} ${filter}
        ORDER BY ${this.key} LIMIT $1`;
      // With EXISTS the server would take the rows in any order, and skip all that come before.
      return `
        SELECT '[' || coalesce(text, '') || ']' AS text, last::text AS last,
          (SELECT true FROM ${this.table} ${rest} ORDER BY ${this.key} LIMIT 1) IS NOT NULL AS "hasMore"
        FROM (SELECT string_agg(json, ',') AS text, max(key) AS last
          FROM (${withinBytes(rows, page)}) AS rows) AS json_page`;
    });
  }

  private pageNamed(shape: string, write: () => string): NamedStatement {
    const statement = this.pages.get(shape) ?? this.named(`page ${this.pages.size + 1}`, write());
    this.pages.set(shape, statement);
    return statement;
  }

  /** Of a page, and of what comes after it. */
  private filters({ where, after }: Page): { filter: string; rest: string } {
    let parameters = 1;
    const conditions = [...where].map(([name, value]) =>
      value === null
        ? `${this.columns.quote(name)} IS NULL`
        : this.isEqual(name, `$${++parameters}`),
    );
    const begin = after === undefined ? [] : [`${this.key} > $${++parameters}`];
    const filter = [...conditions, ...begin].join(' AND ');
    return {
      filter: filter === '' ? '' : `WHERE ${filter}`,
      rest: `WHERE ${[...conditions, `${this.key} > json_page.last`].join(' AND ')}`,
    };
  }

  /** Text may be too long for an index, so what an index holds of it may be its hash. */
  private isEqual(name: string, parameter: string): string {
    const column = this.columns.quote(name);
    const isText = this.columns.metadata.findColumnWithDatabaseName(name)?.type === 'text';
    const equal = `${column} = ${parameter}`;
    return isText ? `${equal} AND ${textHash(column)} = ${textHash(`${parameter}::text`)}` : equal;
  }

  /** A row as a JSON object, without members for what is NULL. */
  private json(): string {
    const members = this.columns.jsonMembers.map(({ name, column, kind }, index) => {
      const value =
        kind === 'string' ? `to_json(${this.name(column)}::text)::text` : this.name(column);
      const member = `'${index === 0 ? '' : ','}${name.replaceAll("'", "''")}:' || ${value}`;
      return column.isNullable ? `coalesce(${member}, '')` : member;
    });
    return `'{' || ${members.join(' || ')} || '}'`;
  }

  /** The server cuts longer names off, and the driver warns of them. */
  private named(operation: string, text: string): NamedStatement {
    return { name: `${operation} ${this.columns.metadata.tableName}`.slice(0, 63), text };
  }

  private select(): string {
    const names = this.columns.readable.map((column) => this.name(column));
    return `SELECT ${names.join(', ')} FROM ${this.table}`;
  }

  private name({ databaseName }: ColumnMetadata): string {
    return this.columns.quote(databaseName);
  }

  private rows(parameter: string): string {
    return `json_populate_recordset(NULL::${this.table}, ${parameter}::json)`;
  }

  private given(column: ColumnMetadata): string {
    const value = `given.${this.name(column)}`;
    const standard = column.isNullable ? undefined : this.columns.driver.normalizeDefault(column);
    return standard === undefined ? value : `coalesce(${value}, ${standard})`;
  }

  private assigned(column: ColumnMetadata): string {
    const stored = `stored.${this.name(column)}`;
    if (column === this.columns.key) return stored;
    if (column.isVersion) return `${stored} + 1`;
    if (column.isUpdateDate) return this.columns.driver.normalizeDefault(column) ?? stored;
    return this.given(column);
  }

  /** Locks the rows that are meant, in the order of their keys, before any is changed. */
  private locked(): string {
    return `WITH locked AS MATERIALIZED (
      SELECT ${this.key} FROM ${this.table}
      WHERE ${this.key} IN (SELECT ${this.key} FROM ${this.rows('$1')})
      ORDER BY ${this.key} FOR UPDATE)`;
  }

  /** The rows of a change, where what is stored is as expected. */
  private meant(): string {
    return `locked
      JOIN ${this.rows('$1')} WITH ORDINALITY AS given ON given.${this.key} = locked.${this.key}
      JOIN ${this.rows('$2')} WITH ORDINALITY AS expected ON expected.ordinality = given.ordinality
      WHERE stored.${this.key} = locked.${this.key}
        AND (expected.${this.key} IS NULL OR (${this.areEqual('expected')}))`;
  }

  /** Not every type can be compared, but every one can be written. */
  private areEqual(row: string): string {
    return this.columns.compared
      .map((column) => this.name(column))
      .map((name) => `stored.${name}::text IS NOT DISTINCT FROM ${row}.${name}::text`)
      .join(' AND ');
  }

  /** The index of the foreign key that refers to a row that is not there; NULL when all are. */
  private missing(): string {
    const cases = this.columns.foreignKeys.map((foreignKey, index) => {
      const names = foreignKey.columns.map((column) => `given.${this.name(column)}`);
      const isGiven = names.map((name) => `${name} IS NOT NULL`).join(' AND ');
      const refers = foreignKey.referencedColumns
        .map((column, place) => `parent.${this.name(column)} = ${names[place] ?? 'NULL'}`)
        .join(' AND ');
      const parent = this.columns.quotedTable(foreignKey.referencedEntityMetadata);
      return `WHEN ${isGiven} AND NOT EXISTS (SELECT 1 FROM ${parent} AS parent WHERE ${refers}) THEN ${index}`;
    });
    return cases.length === 0 ? 'NULL::int' : `CASE ${cases.join(' ')} END`;
  }
}

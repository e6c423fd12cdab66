import { hash } from 'node:crypto';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EmptyWrites } from '../engine/store-data-source.js';
import type { SqlDialect, Statement } from '../engine/engine.js';
import { isBytes, type Values } from '../entities/column-values.js';
import type { EntityColumns } from '../entities/entity-columns.js';

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
    this.insert = nameStatement(
      'insert',
      `${insert}
       ON CONFLICT (${this.list(keys)}) DO NOTHING ${returning}`,
    );
    this.insertFree = nameStatement('insert free', `${insert} ${returning}`);
    this.add = nameStatement(
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
    this.find = nameStatement('find', find);
    this.keep = nameStatement('keep', `${find} ${dialect.locks?.toKeep ?? ''}`);
    this.missingParent = nameStatement(
      'parent',
      `SELECT ${this.findMissingParent()} AS missing FROM ${dialect.givenRows}`,
    );
    const hasBytes = columns.bytes.map(
      (column) => `${this.name(column)} IS NOT DISTINCT FROM ${this.given(column)}`,
    );
    this.findBytes = nameStatement(
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
   * every engine can: see {@link SqlDialect.canPutInOrder}.
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

  /** @param variant what the text of the statement depends on */
  private cached(operation: string, variant: string, write: () => string): Statement {
    const key = `${operation} ${variant}`;
    const known = this.statements.get(key);
    if (known !== undefined) return known;
    const statement = nameStatement(operation, write());
    this.statements.set(key, statement);
    return statement;
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

/**
 * Names a statement after its text, since a connection may keep only one statement of a name. The name
 * has less than 64 bytes: servers truncate longer names.
 */
export function nameStatement(operation: string, text: string): Statement {
  return { name: `${operation} ${hash('sha256', text).slice(0, 16)}`, text };
}

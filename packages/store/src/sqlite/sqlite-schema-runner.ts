import {
  type EntityMetadata,
  type Table,
  type TableForeignKey,
  type TableIndex,
  TypeORMError,
} from 'typeorm';
import { Query } from 'typeorm/driver/Query.js';
import { SqliteQueryRunner } from 'typeorm/driver/sqlite/SqliteQueryRunner.js';
import type { StoredTable } from '../engine/engine.js';
import { isComputed, isCounter } from '../entities/entity-columns.js';
import { PREFIX } from '../engine/recorded-tables.js';

// TypeORM changes a table on SQLite by copying it, and knows only a part of what SQLite has stored
// of it. test/typeorm fails if an upgrade changes what this depends on.

/** A part of the schema, as SQLite has stored it. */
interface Stored {
  readonly type: 'table' | 'index' | 'trigger';
  readonly name: string;
  /** The table that it belongs to. */
  readonly table: string;
  readonly sql: string;
}

const COMMENTS_OR_QUOTED = /--[^\n]*|\/\*[^]*?\*\/|('[^']*'|"[^"]*")/g;
/** The words that may be left out of the definition of a table. */
const NEEDLESS = ['generated', 'always', 'asc', 'null'];

/** TypeORM's query runner, with changes of tables that lose nothing. */
export class SqliteSchemaRunner extends SqliteQueryRunner {
  readonly generation = 'be "integer PRIMARY KEY"';
  /** The loaded indexes that TypeORM would write differently, by what it would write. */
  private readonly indexes = new Map<string, Stored>();
  /** The words in the definitions of loaded tables that TypeORM would not write, by the tables. */
  private readonly unknown = new Map<string, string[]>();
  private stored: readonly Stored[] = [];

  /**
   * The rows of a table that others refer to are copied and dropped, so foreign keys must be off until
   * the runner is released, which closes its connection.
   */
  override async afterMigration(): Promise<void> {
    // They stay off.
  }

  async readTable({ tablePath, columns }: EntityMetadata): Promise<StoredTable | undefined> {
    const stored = (await this.query(
      `SELECT part.name, part.type, part.pk
       FROM pragma_table_list(?) AS list, pragma_table_info(list.name) AS part
       WHERE list.type = 'table'`,
      [tablePath],
    )) as { name: string; type: string; pk: number }[];
    if (stored.length === 0) return undefined;
    const indexes = (await this.query('SELECT name, origin FROM pragma_index_list(?)', [
      tablePath,
    ])) as { name: string; origin: string }[];
    // Only a key that is the rowid needs no index, and only such a key is generated.
    const isRowid = indexes.every(({ origin }) => origin !== 'pk');
    return {
      columns: stored.map(({ name, type, pk }) => ({
        // SQLite compares names without regard to case.
        name: columns.find((column) => isSameName(column.databaseName, name))?.databaseName ?? name,
        type,
        isKey: pk > 0,
        // A trigger may set another column.
        isGenerated: isRowid || pk === 0,
      })),
      indexes: indexes.map(({ name }) => name),
    };
  }

  protected override async loadTables(names?: string[]): Promise<Table[]> {
    const tables = await super.loadTables(names);
    this.stored = (await this.query(
      'SELECT type, name, tbl_name AS "table", sql FROM sqlite_master WHERE sql IS NOT NULL',
    )) as Stored[];
    for (const table of tables) this.complete(table);
    return tables;
  }

  /** An index that TypeORM would write differently is created as it was. */
  protected override createIndexSql(table: Table, index: TableIndex): Query {
    const own = super.createIndexSql(table, index);
    return new Query(this.indexes.get(own.query)?.sql ?? own.query);
  }

  /** @throws TypeORMError when the copy would lose something */
  protected override async recreateTable(
    newTable: Table,
    oldTable: Table,
    copiesRows = true,
  ): Promise<void> {
    const { name } = oldTable;
    // TypeORM keeps the constraint of a column that need not be unique any more.
    newTable.uniques = newTable.uniques.filter(
      ({ columnNames: [column = '', ...others] }) =>
        others.length > 0 || newTable.findColumnByName(column)?.isUnique !== false,
    );
    this.assertComplete(oldTable, newTable);
    const triggers = this.listTriggers(name).map(({ sql }) => new Query(sql));
    const counts = [oldTable, newTable].every(({ columns }) => columns.some(isCounter));
    const { keep, restore } = counts ? writeCounterSteps(name) : { keep: [], restore: [] };
    // Otherwise SQLite refuses to rename a table that views name, and changes the foreign keys of
    // other tables to the name of the copy.
    const before = [...keep, new Query('PRAGMA legacy_alter_table = ON')];
    const after = [new Query('PRAGMA legacy_alter_table = OFF'), ...restore, ...triggers];
    // The statements that undo the change are executed in reverse order.
    await this.executeQueries(before, after.toReversed());
    await super.recreateTable(newTable, oldTable, copiesRows);
    await this.executeQueries(after, before.toReversed());
  }

  /** @throws TypeORMError when a copy of a table would lose something */
  private assertComplete(oldTable: Table, newTable: Table): void {
    const { name } = oldTable;
    const unknown = this.unknown.get(name) ?? [];
    if (unknown.length > 0) {
      const words = unknown.join(' ').toUpperCase();
      throw refuse(name, `TypeORM leaves these words of its definition out: ${words}`);
    }
    for (const column of oldTable.columns) {
      const changed = newTable.findColumnByName(column.name);
      if (changed === undefined || isComputed(changed) === isComputed(column)) continue;
      throw refuse(
        name,
        `the values of ${column.name} are computed only before or after the change`,
      );
    }
    const indexes = oldTable.indices.flatMap(
      (index) => this.indexes.get(super.createIndexSql(oldTable, index).query) ?? [],
    );
    const kept = [...this.listTriggers(name), ...indexes];
    const columns = oldTable.columns.map((column) => column.name);
    for (const dropped of columns.filter((column) => !newTable.findColumnByName(column))) {
      const user = kept.find(({ sql }) => mentions(sql, dropped));
      if (user === undefined) continue;
      throw refuse(name, `its ${user.type} ${user.name} names the column ${dropped}`);
    }
  }

  /** Adds to a loaded table what TypeORM has not read of it. */
  private complete(table: Table): void {
    const { sql } = this.find('table', table.name);
    table.withoutRowid = /\bwithout\s+rowid\b[^)]*$/i.test(sql);
    for (const column of table.columns) {
      const begin = `"${escapeRegExp(column.name)}" [^,"(]*(?:\\([\\d, ]*\\)[^,"(]*)?`;
      const [, collation] = new RegExp(`${begin}\\bCOLLATE "?(\\w+)`, 'i').exec(sql) ?? [];
      if (collation !== undefined) column.collation = collation;
    }
    for (const key of table.foreignKeys) {
      const deferrable = readDeferrable(sql, key);
      if (deferrable !== undefined) key.deferrable = deferrable;
    }
    for (const index of table.indices) {
      const { query } = super.createIndexSql(table, index);
      const stored = this.find('index', index.name ?? '');
      if (stored.sql.trim() !== query.trim()) this.indexes.set(query, stored);
    }
    const own = this.createTableSql(table, true).query;
    this.unknown.set(table.name, findUnknownWords(sql, own));
  }

  /** The feed of changes keeps its own triggers: stores have them or not. */
  private listTriggers(table: string): readonly Stored[] {
    return this.stored.filter(
      (part) => part.type === 'trigger' && part.table === table && !part.name.startsWith(PREFIX),
    );
  }

  private find(type: Stored['type'], name: string): Stored {
    const part = this.stored.find((other) => other.type === type && other.name === name);
    // A table that the program has just made has no definition yet.
    return part ?? { type, name, table: name, sql: '' };
  }
}

function refuse(table: string, reason: string): TypeORMError {
  return new TypeORMError(
    `TypeORM would change ${table} by copying it, and cannot keep everything: ${reason}. Write the migration by hand, with changeSchema(queryRunner) or ALTER TABLE`,
  );
}

/** Writes how the next generated key is kept, which SQLite forgets when it drops a table. */
function writeCounterSteps(table: string): { keep: Query[]; restore: Query[] } {
  const text = table.replaceAll("'", "''");
  const [name, kept] = [`'${text}'`, `'kept ${text}'`];
  const keep = `INSERT INTO sqlite_sequence (name, seq) SELECT ${kept}, seq FROM sqlite_sequence WHERE name = ${name}`;
  const restore = [
    `DELETE FROM sqlite_sequence WHERE name = ${name}`,
    `UPDATE sqlite_sequence SET name = ${name} WHERE name = ${kept}`,
  ];
  return { keep: [new Query(keep)], restore: restore.map((sql) => new Query(sql)) };
}

function readDeferrable(sql: string, { name = '' }: TableForeignKey): string | undefined {
  const start = sql.indexOf(`CONSTRAINT "${name}" FOREIGN KEY`);
  if (start === -1) return undefined;
  const [clause = ''] = sql.slice(start + 1).split(/, (?:CONSTRAINT|PRIMARY KEY)\b/);
  return /(?<!NOT )DEFERRABLE(?: (INITIALLY \w+))?/.exec(clause)?.[1];
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Whether the text of an index or a trigger names a column, or something else by its name. */
function mentions(sql: string, column: string): boolean {
  return new RegExp(`(?<!\\w)${escapeRegExp(column)}(?!\\w)`, 'i').test(sql);
}

/** Lists the words of a stored definition that the definition by TypeORM does not have, or not as often. */
function findUnknownWords(stored: string, own: string): string[] {
  const known = readWords(own);
  return readWords(stored).filter((word) => {
    const index = known.indexOf(word);
    if (index !== -1) known.splice(index, 1);
    return index === -1 && !NEEDLESS.includes(word);
  });
}

function readWords(sql: string): string[] {
  return sql.replace(COMMENTS_OR_QUOTED, ' $1').toLowerCase().match(/\w+/g) ?? [];
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

import {
  type EntityMetadata,
  type Table,
  type TableForeignKey,
  type TableIndex,
  type TableUnique,
  TypeORMError,
} from 'typeorm';
import { Query } from 'typeorm/driver/Query.js';
import { SqliteQueryRunner } from 'typeorm/driver/sqlite/SqliteQueryRunner.js';
import type { StoredTable } from '../engine/engine.js';
import { isComputed, isCounter } from '../entities/supported-entities.js';
import { PREFIX } from '../engine/recorded-tables.js';

// TypeORM changes a table on SQLite by copying it, and reads only a part of what SQLite has stored of
// it. test/typeorm fails if an upgrade changes what this depends on.

/** A part of the schema, as SQLite has stored it. */
interface StoredPart {
  readonly type: 'table' | 'index' | 'trigger';
  readonly name: string;
  /** The table that it belongs to. */
  readonly table: string;
  readonly sql: string;
}

/** Finds comments and quoted text. Only quoted text is in the group. */
const COMMENTS_OR_QUOTED = /--[^\n]*|\/\*[^]*?\*\/|('[^']*'|"[^"]*")/g;
/** The words that mean the same in the definition of a table if they are left out. */
const OPTIONAL_WORDS = ['generated', 'always', 'asc', 'null'];

/** TypeORM's query runner, with changes of tables that lose nothing. */
export class SqliteSchemaRunner extends SqliteQueryRunner {
  /** What a column must do, so that SQLite generates its values: the end of a message. */
  readonly generationRule = 'be "integer PRIMARY KEY"';
  /** The loaded indexes whose SQL TypeORM would write differently. The key is TypeORM's SQL. */
  private readonly storedIndexes = new Map<string, StoredPart>();
  /** The words in the definition of each loaded table that TypeORM would not write. */
  private readonly unknownWords = new Map<string, string[]>();
  private storedParts: readonly StoredPart[] = [];

  /**
   * TypeORM would switch foreign keys on again here. They stay off until the runner is released, which
   * closes its connection: a later change may still drop a table that others refer to.
   */
  override async afterMigration(): Promise<void> {
    // Nothing is done.
  }

  async readTable({ tablePath, columns }: EntityMetadata): Promise<StoredTable | undefined> {
    const storedColumns = (await this.query(
      `SELECT part.name, part.type, part.pk
       FROM pragma_table_list(?) AS list, pragma_table_info(list.name) AS part
       WHERE list.type = 'table'`,
      [tablePath],
    )) as { name: string; type: string; pk: number }[];
    if (storedColumns.length === 0) return undefined;
    const indexes = (await this.query('SELECT name, origin FROM pragma_index_list(?)', [
      tablePath,
    ])) as { name: string; origin: string }[];
    // SQLite generates a key only if it is the rowid, which is the only key without an index.
    const isKeyGenerated = indexes.every(({ origin }) => origin !== 'pk');
    return {
      columns: storedColumns.map(({ name, type, pk }) => {
        // SQLite compares names without regard to case.
        const declared = columns.find((column) => isSameName(column.databaseName, name));
        const isKey = pk > 0;
        return {
          name: declared?.databaseName ?? name,
          type,
          isKey,
          // A trigger may generate the value of any other column.
          isGenerated: isKey ? isKeyGenerated : true,
        };
      }),
      indexes: indexes.map(({ name }) => name),
    };
  }

  protected override async loadTables(names?: string[]): Promise<Table[]> {
    const tables = await super.loadTables(names);
    this.storedParts = (await this.query(
      'SELECT type, name, tbl_name AS "table", sql FROM sqlite_master WHERE sql IS NOT NULL',
    )) as StoredPart[];
    for (const table of tables) this.addMissingDetails(table);
    return tables;
  }

  /** Adds to a loaded table what TypeORM has not read of it. */
  private addMissingDetails(table: Table): void {
    const { sql } = this.findStored('table', table.name);
    table.withoutRowid = isWithoutRowid(sql);
    for (const column of table.columns) {
      const collation = readCollation(sql, column.name);
      if (collation !== undefined) column.collation = collation;
    }
    for (const key of table.foreignKeys) {
      const deferrable = readDeferrable(sql, key);
      if (deferrable !== undefined) key.deferrable = deferrable;
    }
    for (const index of table.indices) {
      const { query } = super.createIndexSql(table, index);
      const stored = this.findStored('index', index.name ?? '');
      if (stored.sql.trim() !== query.trim()) this.storedIndexes.set(query, stored);
    }
    const typeOrmSql = this.createTableSql(table, true).query;
    this.unknownWords.set(table.name, findUnknownWords(sql, typeOrmSql));
  }

  private findStored(type: StoredPart['type'], name: string): StoredPart {
    const stored = this.storedParts.find((part) => part.type === type && part.name === name);
    // A table that the program has just made has no definition yet.
    return stored ?? { type, name, table: name, sql: '' };
  }

  /** Creates an index as it was stored, if TypeORM would write it differently. */
  protected override createIndexSql(table: Table, index: TableIndex): Query {
    const { query } = super.createIndexSql(table, index);
    return new Query(this.storedIndexes.get(query)?.sql ?? query);
  }

  /** @throws TypeORMError when the copy would lose something */
  protected override async recreateTable(
    newTable: Table,
    oldTable: Table,
    copiesRows = true,
  ): Promise<void> {
    const { name } = oldTable;
    newTable.uniques = newTable.uniques.filter((unique) => isStillWanted(unique, newTable));
    this.assertNothingLost(oldTable, newTable);
    const keepsCounter = hasCounter(oldTable) && hasCounter(newTable);
    const counter = keepsCounter ? writeCounterSteps(name) : { keep: [], restore: [] };
    // SQLite drops the triggers of a table with it.
    const triggers = this.listTriggers(name).map(({ sql }) => new Query(sql));
    // With this pragma, renaming a table changes nothing else. Without it, SQLite would refuse to rename
    // the copy if a view names the dropped table. When the change is undone, the old table is renamed:
    // then the foreign keys of other tables would get its temporary name.
    const before = [...counter.keep, new Query('PRAGMA legacy_alter_table = ON')];
    const after = [new Query('PRAGMA legacy_alter_table = OFF'), ...counter.restore, ...triggers];
    // The second argument undoes the change. TypeORM executes all statements that undo it in reverse
    // order, so `before` comes first then, too.
    await this.executeQueries(before, after.toReversed());
    await super.recreateTable(newTable, oldTable, copiesRows);
    await this.executeQueries(after, before.toReversed());
  }

  /** @throws TypeORMError when a copy of a table would lose something */
  private assertNothingLost(oldTable: Table, newTable: Table): void {
    this.assertWordsKnown(oldTable);
    assertSameComputed(oldTable, newTable);
    this.assertDroppedUnused(oldTable, newTable);
  }

  private assertWordsKnown({ name }: Table): void {
    const unknown = this.unknownWords.get(name) ?? [];
    if (unknown.length === 0) return;
    const words = unknown.join(' ').toUpperCase();
    throw createCopyError(name, `TypeORM leaves these words of its definition out: ${words}`);
  }

  /** Refuses to drop a column that a trigger or an index names, which is created as it was stored. */
  private assertDroppedUnused(oldTable: Table, newTable: Table): void {
    const { name } = oldTable;
    const indexes = oldTable.indices.flatMap(
      (index) => this.storedIndexes.get(super.createIndexSql(oldTable, index).query) ?? [],
    );
    const writtenAsStored = [...this.listTriggers(name), ...indexes];
    for (const column of oldTable.columns) {
      if (newTable.findColumnByName(column.name) !== undefined) continue;
      const dependent = writtenAsStored.find(({ sql }) => mentions(sql, column.name));
      if (dependent === undefined) continue;
      throw createCopyError(
        name,
        `its ${dependent.type} ${dependent.name} names the column ${column.name}`,
      );
    }
  }

  /** Lists the triggers of a table, without the triggers of the feed of changes, which it makes itself. */
  private listTriggers(table: string): readonly StoredPart[] {
    return this.storedParts.filter(
      (part) => part.type === 'trigger' && part.table === table && !part.name.startsWith(PREFIX),
    );
  }
}

function assertSameComputed(oldTable: Table, newTable: Table): void {
  for (const column of oldTable.columns) {
    const changed = newTable.findColumnByName(column.name);
    if (changed === undefined || isComputed(changed) === isComputed(column)) continue;
    throw createCopyError(
      oldTable.name,
      `the values of ${column.name} are computed on only one side of the change`,
    );
  }
}

function createCopyError(table: string, reason: string): TypeORMError {
  return new TypeORMError(
    `TypeORM would change ${table} by copying it, and cannot keep everything: ${reason}. Write the migration by hand, with changeSchema(queryRunner) or ALTER TABLE`,
  );
}

/** TypeORM keeps the constraint of a single column even if the column need not be unique any more. */
function isStillWanted({ columnNames }: TableUnique, table: Table): boolean {
  const [name, ...others] = columnNames;
  if (name === undefined || others.length > 0) return true;
  const column = table.findColumnByName(name);
  return column === undefined || column.isUnique;
}

function hasCounter({ columns }: Table): boolean {
  return columns.some(isCounter);
}

/** Writes the statements that keep the next generated key. SQLite forgets it with a dropped table. */
function writeCounterSteps(table: string): { keep: Query[]; restore: Query[] } {
  const text = table.replaceAll("'", "''");
  const [name, keptName] = [`'${text}'`, `'kept ${text}'`];
  const keep = `INSERT INTO sqlite_sequence (name, seq) SELECT ${keptName}, seq FROM sqlite_sequence WHERE name = ${name}`;
  const restore = [
    `DELETE FROM sqlite_sequence WHERE name = ${name}`,
    `UPDATE sqlite_sequence SET name = ${name} WHERE name = ${keptName}`,
  ];
  return { keep: [new Query(keep)], restore: restore.map((sql) => new Query(sql)) };
}

/** Whether a definition ends like `CREATE TABLE "plants" ("id" text PRIMARY KEY) WITHOUT ROWID`. */
function isWithoutRowid(sql: string): boolean {
  return /\bwithout\s+rowid\b[^)]*$/i.test(sql);
}

/** Reads `NOCASE` for the column `name` from `"name" varchar(100) NOT NULL COLLATE NOCASE, ...`. */
function readCollation(sql: string, column: string): string | undefined {
  const type = String.raw`[^,"(]*(?:\([\d, ]*\)[^,"(]*)?`;
  const collation = String.raw`\bCOLLATE "?(\w+)`;
  return new RegExp(`"${escapeRegExp(column)}" ${type}${collation}`, 'i').exec(sql)?.[1];
}

/**
 * Reads `INITIALLY DEFERRED` for the foreign key `FK_1` from
 * `CONSTRAINT "FK_1" FOREIGN KEY ("bed") REFERENCES "beds" ("id") DEFERRABLE INITIALLY DEFERRED, ...`.
 */
function readDeferrable(sql: string, { name = '' }: TableForeignKey): string | undefined {
  const start = sql.indexOf(`CONSTRAINT "${name}" FOREIGN KEY`);
  if (start === -1) return undefined;
  const [clause = ''] = sql.slice(start).split(/, (?:CONSTRAINT|PRIMARY KEY)\b/);
  return /(?<!NOT )DEFERRABLE(?: (INITIALLY \w+))?/.exec(clause)?.[1];
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Whether the text of an index or a trigger names a column, or something else by its name. */
function mentions(sql: string, column: string): boolean {
  return new RegExp(`(?<!\\w)${escapeRegExp(column)}(?!\\w)`, 'i').test(sql);
}

/** Lists the words that the stored definition has more often than TypeORM's SQL for it. */
function findUnknownWords(storedSql: string, typeOrmSql: string): string[] {
  const known = new Map<string, number>();
  for (const word of readWords(typeOrmSql)) known.set(word, (known.get(word) ?? 0) + 1);
  const unknown: string[] = [];
  for (const word of readWords(storedSql)) {
    const count = known.get(word) ?? 0;
    if (count > 0) known.set(word, count - 1);
    else if (!OPTIONAL_WORDS.includes(word)) unknown.push(word);
  }
  return unknown;
}

/** Reads the words outside of comments, also the words of quoted text. */
function readWords(sql: string): string[] {
  return sql.replace(COMMENTS_OR_QUOTED, ' $1').toLowerCase().match(/\w+/g) ?? [];
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

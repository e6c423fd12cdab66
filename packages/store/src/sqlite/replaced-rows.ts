import { PREFIX } from '../engine/recorded-tables.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { readStatement, type SqliteStatement } from './sqlite-statement.js';

const CHANGES_SCHEMA = /^(?:create|alter|drop)$/;

const FIND_REPLACING = `SELECT name, sql FROM sqlite_schema
  WHERE sql LIKE '%replace%' OR substr(name, 1, ${PREFIX.length}) = '${PREFIX}'`;

interface SchemaState {
  /** Whether the feed of changes is on. */
  readonly isRecording: boolean;
  /** Whether a table or a trigger may replace rows, whatever the statement. */
  readonly mayReplace: boolean;
}

/**
 * Has the feed of changes record the rows that REPLACE removes. SQLite fires the triggers of such a
 * removal only while `recursive_triggers` is on. But then a trigger also fires itself, and one that
 * updates its own row, as `updated` columns need it, does not end. So the setting is on only for
 * statements that may replace rows, and only while the feed is on.
 */
export class ReplacedRows {
  /** Undefined until the next write reads it. */
  private schema: SchemaState | undefined;
  /** Whether the current turn has changed the schema, which it may still roll back. */
  private hasChangedSchema = false;
  /** The connections on which the setting is on. */
  private readonly recursive = new WeakSet<SqliteConnection>();

  /** Executes a statement that writes. There is only one writer at a time. */
  async write<Result>(
    connection: SqliteConnection,
    { verb, mayReplace }: Pick<SqliteStatement, 'verb' | 'mayReplace'>,
    execute: () => Promise<Result>,
  ): Promise<Result> {
    this.schema ??= await readSchema(connection);
    const isRecursive = this.schema.isRecording && (mayReplace || this.schema.mayReplace);
    if (isRecursive !== this.recursive.has(connection)) await this.set(connection, isRecursive);
    try {
      return await execute();
    } catch (error) {
      if (isRecursion(error)) await explainRecursion(connection, error);
      throw error;
    } finally {
      if (CHANGES_SCHEMA.test(verb)) {
        this.hasChangedSchema = true;
        this.schema = undefined;
      }
    }
  }

  /** Ends the turn of a writer. */
  endTurn(): void {
    if (this.hasChangedSchema) this.schema = undefined;
    this.hasChangedSchema = false;
  }

  private async set(connection: SqliteConnection, isRecursive: boolean): Promise<void> {
    // If the statement is interrupted, the next one that may replace rows sets it again.
    this.recursive.delete(connection);
    await connection.exec(`PRAGMA recursive_triggers = ${isRecursive}`);
    if (isRecursive) this.recursive.add(connection);
  }
}

async function readSchema(connection: SqliteConnection): Promise<SchemaState> {
  const parts = await connection.all<{ name: string; sql: string }>(FIND_REPLACING);
  const others = parts.filter(({ name }) => !name.startsWith(PREFIX));
  return {
    isRecording: others.length < parts.length,
    mayReplace: others.some(({ sql }) => readStatement(sql).mayReplace),
  };
}

/** Whether a statement has failed since triggers fired each other without end. */
export function isRecursion(error: unknown): error is Error {
  return error instanceof Error && error.message.includes('too many levels of trigger recursion');
}

/** Finds the triggers of modules. */
const FIND_TRIGGERS = `SELECT name, tbl_name AS "table", sql FROM sqlite_schema
  WHERE type = 'trigger' AND substr(name, 1, ${PREFIX.length}) <> '${PREFIX}'`;

interface Trigger {
  readonly name: string;
  readonly table: string;
  readonly sql: string;
}

/** The table of an UPDATE, and the first column that it sets. */
const UPDATE = /\bupdate\s+(?:or\s+\w+\s+)?["`[]?(\w+)["`\]]?\s+set\s+["`[]?(\w+)/gi;

/** Adds to the message of an error what ends the triggers that fire themselves. */
async function explainRecursion(connection: SqliteConnection, error: Error): Promise<void> {
  const triggers = await connection.all<Trigger>(FIND_TRIGGERS);
  const clauses = triggers.flatMap(writeClause);
  const names = triggers.map(({ name, table }) => `${name} of ${table}`);
  error.message += `: while the feed of changes is on, triggers may fire themselves where rows may be replaced. ${
    clauses.length > 0
      ? `Add ${clauses.join(', and ')}; or list the other columns in AFTER UPDATE OF`
      : `One of these triggers does: ${names.join(', ')}`
  }`;
}

/** Writes the clause with which a trigger that updates its own table does not fire itself. */
function writeClause({ name, table, sql }: Trigger): string[] {
  const own = [...sql.matchAll(UPDATE)].find(
    ([, updated]) => updated?.toLowerCase() === table.toLowerCase(),
  );
  const column = own?.[2];
  if (column === undefined) return [];
  return [`WHEN NEW.${column} IS OLD.${column} to the trigger ${name} of ${table}`];
}

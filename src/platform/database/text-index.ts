import type { QueryRunner } from 'typeorm';
import { textHash } from './postgres/postgres-sql.js';

interface TextIndex {
  readonly table: string;
  /** A column of type text. */
  readonly column: string;
  /** The primary key, in whose order the rows of a page come. */
  readonly key: string;
}

/**
 * Creates the index `<table>_<column>`, by which pages find rows with a text, in a migration. It has
 * no entry for a row without one. PostgreSQL refuses entries of more than 2.7 KB, so there it is of
 * the text's hash.
 */
export async function createTextIndex(
  queryRunner: QueryRunner,
  { table, column, key }: TextIndex,
): Promise<void> {
  const { driver } = queryRunner.connection;
  const [name, quotedTable, text, quotedKey] = [`${table}_${column}`, table, column, key].map(
    (one) => driver.escape(one),
  );
  // A SQLite index has the key in it already.
  const indexed =
    driver.options.type === 'sqlite' ? text : `${textHash(String(text))}, ${quotedKey}`;
  await queryRunner.query(
    `CREATE INDEX ${name} ON ${quotedTable} (${indexed}) WHERE ${text} IS NOT NULL`,
  );
}

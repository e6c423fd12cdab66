import type { QueryRunner } from 'typeorm';

/**
 * The type of a column that is an int64 and the primary key, for a migration. On SQLite exactly
 * `integer` makes the key the rowid: one B-tree, and int64 enforced.
 */
export function int64KeyType({ connection }: QueryRunner): 'integer' | 'bigint' {
  return connection.options.type === 'sqlite' ? 'integer' : 'bigint';
}

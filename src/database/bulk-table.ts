import type { ObjectLiteral, Repository } from 'typeorm';

/** Reads and writes many rows of an entity at once, in the way of one engine. */
export interface BulkTable<Row> {
  /** How many commits may be under way at the same time. */
  readonly concurrency: number;

  /**
   * Inserts the rows whose key is free, all in one commit, and resolves with their keys once they
   * are on disk. No two of the rows have the same key.
   */
  insertNew(rows: readonly Row[]): Promise<Set<string>>;

  /** Resolves with the rows that are stored exactly as given. */
  findIdentical(rows: readonly Row[]): Promise<Set<Row | undefined>>;

  /** Whether the engine refuses a row itself; after any other error it was not able to store it. */
  isRowError(error: unknown): boolean;
}

/** The name of the one column that is the primary key. */
export function keyOf<Row extends ObjectLiteral>({ metadata }: Repository<Row>): string {
  const [key, ...others] = metadata.primaryColumns;
  if (key === undefined || others.length > 0) {
    throw new TypeError(`${metadata.name} needs a primary key of one column`);
  }
  return key.databaseName;
}

import sqlite3 from 'sqlite3';

/** Runs a statement on a SQLite file, as another program may do. */
export async function querySqlite(
  path: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<unknown> {
  const database = new sqlite3.Database(path);
  try {
    return await new Promise((resolve, reject) => {
      database.all(sql, [...parameters], (error, rows) =>
        error === null ? resolve(rows) : reject(error),
      );
    });
  } finally {
    await new Promise((resolve) => database.close(resolve));
  }
}

import Database from 'better-sqlite3';
import process from 'node:process';

/**
 * Opens the peer's database, with every commit flushed to disk, and prepares its statements.
 *
 * @param {string} [indexes] statements that create the indexes of the table
 */
export function openPlants(indexes = '') {
  const database = new Database(process.env.DATABASE);
  database.pragma('journal_mode = WAL');
  // In WAL mode the default of the driver is NORMAL, which loses commits in a power cut.
  database.pragma('synchronous = FULL');
  database.exec(
    `CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT);
    ${indexes}`,
  );
  const select = 'SELECT id, name, tag FROM plants';
  const page = database.prepare(`${select} WHERE id > ? ORDER BY id LIMIT ?`);
  const taggedPage = database.prepare(`${select} WHERE id > ? AND tag = ? ORDER BY id LIMIT ?`);
  const insertNew = database.prepare(
    'INSERT OR IGNORE INTO plants (id, name, tag) VALUES (?, ?, ?)',
  );
  return {
    /** Inserts the rows with free ids in one transaction, and returns their number. */
    insertAll: database.transaction((rows) =>
      rows.reduce(
        (sum, { id, name, tag }) => sum + insertNew.run(id, name, tag ?? null).changes,
        0,
      ),
    ),
    insert: database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)'),
    find: database.prepare(`${select} WHERE id = ?`),
    replace: database.prepare('UPDATE plants SET name = ?, tag = ? WHERE id = ?'),
    remove: database.prepare('DELETE FROM plants WHERE id = ?'),
    /** One row more than the limit, if there are more. */
    page: ({ limit, after = Number.MIN_SAFE_INTEGER, tag }) =>
      tag === undefined ? page.all(after, limit + 1) : taggedPage.all(after, tag, limit + 1),
  };
}

/** @param {{ code?: string }} error */
export function isTaken(error) {
  return error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY';
}

import Database from 'better-sqlite3';

/** Rows in one transaction of the preload. */
const CHUNK = 1_000_000;

/** The index of the program. Peers need it too, to answer pages by tag as fast. */
const TAG_INDEX = 'CREATE INDEX IF NOT EXISTS plants_tag ON plants (tag) WHERE tag IS NOT NULL';

/**
 * @param {string} file
 * @param {string} [tag] counts only rows with this tag
 */
export function countRows(file, tag) {
  const count = 'SELECT count(*) FROM plants';
  return use(file, (database) =>
    tag === undefined
      ? database.prepare(count).pluck().get()
      : database.prepare(`${count} WHERE tag = ?`).pluck().get(tag),
  );
}

/**
 * Counts the rows in a store of peers/neighbour.mjs: those of creates, and those of the other
 * module.
 */
export function countBeside(file) {
  return use(file, (database) =>
    database
      .prepare(
        `SELECT count(*) FILTER (WHERE id >= 0) AS creates, count(*) FILTER (WHERE id < 0) AS saves,
           (max(tag + 0) FILTER (WHERE id < 0) - min(tag + 0) FILTER (WHERE id < 0)) / 1000.0 AS seconds
         FROM plants`,
      )
      .get(),
  );
}

/**
 * Fills the table that the program has made, with ids from 1.
 *
 * @param {string} file
 * @param {number} rows
 */
export function preload(file, rows) {
  use(file, (database) => {
    const insert = database.prepare(
      `WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n LIMIT ?)
       INSERT INTO plants (id, name, tag)
       SELECT i, 'Monstera deliciosa', 'indoor' FROM n`,
    );
    for (let done = 0; done < rows; done += CHUNK) {
      insert.run(done + 1, Math.min(CHUNK, rows - done));
    }
    database.exec(TAG_INDEX);
    database.pragma('wal_checkpoint(TRUNCATE)');
  });
}

function use(file, action) {
  const database = new Database(file, { fileMustExist: true });
  try {
    return action(database);
  } finally {
    database.close();
  }
}

import Database from 'better-sqlite3';
import process from 'node:process';

/** Opens the peer's database, with every commit flushed to disk, and prepares its one statement. */
export function prepareInsert() {
  const database = new Database(process.env.DATABASE);
  database.pragma('journal_mode = WAL');
  // In WAL mode the driver's own default is NORMAL, which loses commits with the power.
  database.pragma('synchronous = FULL');
  database.exec(
    'CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)',
  );
  return database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)');
}

/** @param {{ code?: string }} error */
export function isTaken(error) {
  return error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY';
}

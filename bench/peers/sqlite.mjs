// The table of the Fastify peer with better-sqlite3: prepared statements, and one commit and one
// flush per change.
import Database from 'better-sqlite3';
import process from 'node:process';

const database = new Database(process.env.DATABASE_URL.replace('sqlite:', ''));
database.pragma('journal_mode = WAL');
// In WAL mode the default of the driver is NORMAL, which loses commits in a power cut.
database.pragma('synchronous = FULL');
database.exec(
  'CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)',
);

const SELECT = 'SELECT id, name, tag FROM plants';
const insertNew = database.prepare('INSERT OR IGNORE INTO plants (id, name, tag) VALUES (?, ?, ?)');
const one = database.prepare(`${SELECT} WHERE id = ?`);
const page = database.prepare(`${SELECT} WHERE id > ? ORDER BY id LIMIT ?`);
const update = database.prepare('UPDATE plants SET name = ?, tag = ? WHERE id = ?');
const deletion = database.prepare('DELETE FROM plants WHERE id = ?');

/** Inserts a plant. Returns whether its id was free. */
export const insert = ({ id, name, tag }) => insertNew.run(id, name, tag ?? null).changes > 0;

/** Inserts the plants with free ids in one transaction, and returns their number. */
export const insertAll = database.transaction((plants) => plants.filter(insert).length);

export const find = (id) => one.get(id);

/** One row more than the limit, if there are more. */
export const list = ({ limit, after }) => page.all(after, limit + 1);

/** Returns whether there is a plant with this id. */
export const replace = (id, { name, tag }) => update.run(name, tag ?? null, id).changes > 0;

export const remove = (id) => deletion.run(id).changes > 0;

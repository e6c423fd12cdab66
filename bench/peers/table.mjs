// The table of the Fastify peer, in SQLite with better-sqlite3 or in PostgreSQL with pg: prepared
// statements, and one commit and one flush per change.
import process from 'node:process';

const { DATABASE_URL, WORK } = process.env;
const COLUMNS = 'id, name, tag';
const INSERT = `INSERT INTO plants (${COLUMNS})`;
const STATEMENTS = {
  insert: `${INSERT} VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
  find: `SELECT ${COLUMNS} FROM plants WHERE id = $1`,
  list: `SELECT ${COLUMNS} FROM plants WHERE id > $1 ORDER BY id LIMIT $2`,
  replace: 'UPDATE plants SET name = $1, tag = $2 WHERE id = $3',
  remove: 'DELETE FROM plants WHERE id = $1',
};

/** The indexes that lists by name and by tag need, with the start of a text in small letters. */
const INDEXES =
  WORK === 'minimal'
    ? []
    : ['name', 'tag'].map(
        (column) =>
          `CREATE INDEX IF NOT EXISTS plants_${column} ON plants (lower(substr(${column}, 1, 64)), id)`,
      );

async function openSqlite() {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(DATABASE_URL.replace('sqlite:', ''));
  database.pragma('journal_mode = WAL');
  // In WAL mode the default of the driver is NORMAL, which loses commits in a power cut.
  database.pragma('synchronous = FULL');
  database.exec(
    'CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)',
  );
  for (const sql of INDEXES) database.exec(sql);
  const statements = {};
  for (const [name, sql] of Object.entries(STATEMENTS)) {
    statements[name] = database.prepare(sql.replaceAll(/\$\d/g, '?'));
  }
  const change = (name, ...values) => statements[name].run(...values).changes;
  return {
    read: (name, ...values) => statements[name].all(...values),
    change,
    insertAll: database.transaction(
      (plants) =>
        plants.filter(({ id, name, tag }) => change('insert', id, name, tag ?? null) > 0).length,
    ),
  };
}

async function openPostgres() {
  const { default: pg } = await import('pg');
  // The driver returns a bigint as text.
  pg.types.setTypeParser(pg.types.builtins.INT8, Number);
  const pool = new pg.Pool({
    connectionString: DATABASE_URL,
    max: 10,
    onConnect: (client) => client.query('SET synchronous_commit = on'),
  });
  await pool.query(
    'CREATE TABLE IF NOT EXISTS plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)',
  );
  for (const sql of INDEXES) await pool.query(sql);
  // The server prepares a statement once for each connection.
  const run = (name, ...values) => pool.query({ name, text: STATEMENTS[name], values });
  const insertAll = `${INSERT} SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING`;
  return {
    read: async (name, ...values) => (await run(name, ...values)).rows,
    change: async (name, ...values) => (await run(name, ...values)).rowCount,
    insertAll: async (plants) => {
      const columns = ['id', 'name', 'tag'].map((column) => plants.map((plant) => plant[column]));
      return (await pool.query(insertAll, columns)).rowCount;
    },
  };
}

/**
 * `read` returns the rows of a statement, `change` how many rows it has changed, and `insertAll` the
 * number of plants whose ids were free, all in one transaction.
 */
export const { read, change, insertAll } = await (DATABASE_URL.startsWith('postgres')
  ? openPostgres()
  : openSqlite());

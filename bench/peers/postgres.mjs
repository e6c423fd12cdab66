// The table of the Fastify peer with pg: a pool of ten connections, one prepared statement per
// request, and one commit per change.
import pg from 'pg';
import process from 'node:process';

// The driver returns a bigint as text.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  onConnect: (client) => client.query('SET synchronous_commit = on'),
});
await pool.query(
  'CREATE TABLE IF NOT EXISTS plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)',
);

const SELECT = 'SELECT id, name, tag FROM plants';
const INSERT = 'INSERT INTO plants (id, name, tag)';

/** Runs a statement that the server prepares once for each connection. */
const run = (name, text, ...values) => pool.query({ name, text, values });

/** Inserts a plant. Resolves with whether its id was free. */
export async function insert({ id, name, tag }) {
  const text = `${INSERT} VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;
  return (await run('insert', text, id, name, tag ?? null)).rowCount > 0;
}

/** Inserts the plants with free ids in one statement, and resolves with their number. */
export async function insertAll(plants) {
  const text = `${INSERT} SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING`;
  const columns = ['id', 'name', 'tag'].map((column) => plants.map((plant) => plant[column]));
  return (await run('insert-all', text, ...columns)).rowCount;
}

export async function find(id) {
  return (await run('find', `${SELECT} WHERE id = $1`, id)).rows[0];
}

/** One row more than the limit, if there are more. */
export async function list({ limit, after }) {
  const text = `${SELECT} WHERE id > $1 ORDER BY id LIMIT $2`;
  return (await run('list', text, after, limit + 1)).rows;
}

/** Resolves with whether there is a plant with this id. */
export async function replace(id, { name, tag }) {
  const text = 'UPDATE plants SET name = $2, tag = $3 WHERE id = $1';
  return (await run('replace', text, id, name, tag ?? null)).rowCount > 0;
}

export async function remove(id) {
  return (await run('remove', 'DELETE FROM plants WHERE id = $1', id)).rowCount > 0;
}

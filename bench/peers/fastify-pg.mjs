// Fastify and pg, written by hand: a pool of ten connections, one prepared statement per request,
// and one commit per change.
import Fastify from 'fastify';
import pg from 'pg';
import process from 'node:process';
import { isAllowed } from './bearer.mjs';
import { CREATE, LIST, READ, REPLACE } from './fastify-schemas.mjs';
import { toEtag, isCurrent, toPage, toPlant, readId, readPage } from './stored-plants.mjs';

const UNIQUE_VIOLATION = '23505';
const SELECT = 'SELECT id, name, tag FROM plants';
const insert = { name: 'insert', text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)' };
const find = { name: 'find', text: `${SELECT} WHERE id = $1` };
const list = { name: 'list', text: `${SELECT} WHERE id > $1 ORDER BY id LIMIT $2` };
const listTagged = {
  name: 'list-tagged',
  text: `${SELECT} WHERE id > $1 AND tag = $3 ORDER BY id LIMIT $2`,
};
const replace = { name: 'replace', text: 'UPDATE plants SET name = $2, tag = $3 WHERE id = $1' };
const remove = { name: 'remove', text: 'DELETE FROM plants WHERE id = $1' };

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
const app = Fastify({ ajv: { customOptions: { coerceTypes: false } } });

app.addHook('onRequest', async (request, reply) => {
  if (!isAllowed(request.headers.authorization)) {
    return reply.code(401).send({ error: 'unauthorized' });
  }
});

app.post('/plants', { schema: CREATE }, async (request, reply) => {
  const { id, name, tag } = request.body;
  try {
    await pool.query({ ...insert, values: [id, name, tag ?? null] });
  } catch (error) {
    if (error.code !== UNIQUE_VIOLATION) throw error;
    return reply.code(409).send({ error: 'the id is in use' });
  }
  return { name, tag };
});

app.get('/plants', { schema: LIST }, async (request, reply) => {
  const query = readPage(request.query);
  if (query === undefined) return reply.code(400).send({ error: 'not a page' });
  const { limit, after = Number.MIN_SAFE_INTEGER, tag } = query;
  const { rows } = await pool.query(
    tag === undefined
      ? { ...list, values: [after, limit + 1] }
      : { ...listTagged, values: [after, limit + 1, tag] },
  );
  const page = toPage(rows, query);
  if (page.link !== undefined) reply.header('link', page.link);
  return page.plants;
});

app.get('/plants/:id', { schema: READ }, async (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return reply.code(400).send({ error: 'not an id' });
  const { rows } = await pool.query({ ...find, values: [id] });
  if (rows.length === 0) return reply.code(404).send({ error: 'no such plant' });
  const etag = toEtag(rows[0]);
  reply.header('etag', etag);
  if (isCurrent(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return toPlant(rows[0]);
});

app.put('/plants/:id', { schema: REPLACE }, async (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return reply.code(400).send({ error: 'not an id' });
  const { name, tag } = request.body;
  const { rowCount } = await pool.query({ ...replace, values: [id, name, tag ?? null] });
  if (rowCount === 0) return reply.code(404).send({ error: 'no such plant' });
  return { name, tag };
});

app.delete('/plants/:id', async (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return reply.code(400).send({ error: 'not an id' });
  const { rowCount } = await pool.query({ ...remove, values: [id] });
  if (rowCount === 0) return reply.code(404).send({ error: 'no such plant' });
  return reply.code(204).send();
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });

// Fastify and pg, written by hand: a pool of ten, one prepared insert and one commit a request.
import Fastify from 'fastify';
import pg from 'pg';
import process from 'node:process';
import { isAllowed } from './bearer.mjs';

const UNIQUE_VIOLATION = '23505';
const insert = { name: 'insert', text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)' };

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  onConnect: (client) => client.query('SET synchronous_commit = on'),
});
await pool.query(
  'CREATE TABLE IF NOT EXISTS plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)',
);
const app = Fastify({ ajv: { customOptions: { coerceTypes: false } } });

const name = { type: 'string' };
const tag = { type: 'string' };
const schema = {
  body: {
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'integer' }, name, tag },
  },
  response: { 200: { type: 'object', properties: { name, tag } } },
};

app.addHook('onRequest', async (request, reply) => {
  if (!isAllowed(request.headers.authorization)) {
    return reply.code(401).send({ error: 'unauthorized' });
  }
});

app.post('/plants', { schema }, async (request, reply) => {
  const { id, name, tag } = request.body;
  try {
    await pool.query({ ...insert, values: [id, name, tag ?? null] });
  } catch (error) {
    if (error.code !== UNIQUE_VIOLATION) throw error;
    return reply.code(409).send({ error: 'the id is in use' });
  }
  return { name, tag };
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });

// Fastify and better-sqlite3, written by hand: one insert, one commit and one flush a request.
import Fastify from 'fastify';
import process from 'node:process';
import { isAllowed } from './bearer.mjs';
import { isTaken, prepareInsert } from './plants-table.mjs';

const insert = prepareInsert();
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

app.post('/plants', { schema }, (request, reply) => {
  const { id, name, tag } = request.body;
  try {
    insert.run(id, name, tag ?? null);
  } catch (error) {
    if (!isTaken(error)) throw error;
    return reply.code(409).send({ error: 'the id is in use' });
  }
  reply.send({ name, tag });
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });

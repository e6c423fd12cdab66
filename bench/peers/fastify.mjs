// Fastify and better-sqlite3, written by hand: one statement per request, and one commit and one
// flush per change.
import Fastify from 'fastify';
import process from 'node:process';
import { isAllowed } from './bearer.mjs';
import { CREATE, LIST, READ, REPLACE } from './fastify-schemas.mjs';
import { isTaken, openPlants } from './plants-table.mjs';
import { toEtag, isCurrent, toPage, toPlant, readId, readPage } from './stored-plants.mjs';

const plants = openPlants();
const app = Fastify({ ajv: { customOptions: { coerceTypes: false } } });

app.addHook('onRequest', async (request, reply) => {
  if (!isAllowed(request.headers.authorization)) {
    return reply.code(401).send({ error: 'unauthorized' });
  }
});

app.post('/plants', { schema: CREATE }, (request, reply) => {
  const { id, name, tag } = request.body;
  try {
    plants.insert.run(id, name, tag ?? null);
  } catch (error) {
    if (!isTaken(error)) throw error;
    return reply.code(409).send({ error: 'the id is in use' });
  }
  reply.send({ name, tag });
});

app.get('/plants', { schema: LIST }, (request, reply) => {
  const query = readPage(request.query);
  if (query === undefined) return reply.code(400).send({ error: 'not a page' });
  const page = toPage(plants.page(query), query);
  if (page.link !== undefined) reply.header('link', page.link);
  reply.send(page.plants);
});

app.get('/plants/:id', { schema: READ }, (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return reply.code(400).send({ error: 'not an id' });
  const row = plants.find.get(id);
  if (row === undefined) return reply.code(404).send({ error: 'no such plant' });
  const etag = toEtag(row);
  reply.header('etag', etag);
  if (isCurrent(request.headers['if-none-match'], etag)) return reply.code(304).send();
  reply.send(toPlant(row));
});

app.put('/plants/:id', { schema: REPLACE }, (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return reply.code(400).send({ error: 'not an id' });
  const { name, tag } = request.body;
  const { changes } = plants.replace.run(name, tag ?? null, id);
  if (changes === 0) return reply.code(404).send({ error: 'no such plant' });
  reply.send({ name, tag });
});

app.delete('/plants/:id', (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return reply.code(400).send({ error: 'not an id' });
  const { changes } = plants.remove.run(id);
  if (changes === 0) return reply.code(404).send({ error: 'no such plant' });
  reply.code(204).send();
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });

// Fastify and a driver, written by hand: one statement and one commit per change.
import Fastify from 'fastify';
import { randomUUID } from 'node:crypto';
import process from 'node:process';
import readline from 'node:readline';
import { isAllowed, readId, readPage, toEtag, toPage, toPlant } from './plants.ts';
import { change, insertAll, read } from './table.mjs';

const isMinimal = process.env.WORK === 'minimal';
const app = Fastify({
  ajv: { customOptions: { coerceTypes: false } },
  logger: !isMinimal,
  // It would write two lines for each request.
  disableRequestLogging: true,
  genReqId: ({ headers }) => headers['x-request-id'] ?? randomUUID(),
});
if (!isMinimal) {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  app.addHook('onResponse', async ({ log, method, url }, { statusCode, elapsedTime }) => {
    log.info({ method, url, status: statusCode, ms: elapsedTime }, 'request');
  });
}

// The schemas with which Fastify checks bodies and writes answers.
const [id, name, tag] = [{ type: 'integer' }, { type: 'string' }, { type: 'string' }];
const plant = { type: 'object', required: ['name'], properties: { name, tag } };
const newPlant = { type: 'object', required: ['id', 'name'], properties: { id, name, tag } };
const CREATE = { body: newPlant, response: { 200: plant } };
const REPLACE = { body: plant, response: { 200: plant } };
const READ = { response: { 200: newPlant } };
const LIST = { response: { 200: { type: 'array', items: newPlant } } };

/** The lines that an import stores in one transaction. */
const LINES = 1_000;

app.addHook('onRequest', async (request, reply) => {
  if (!isAllowed(request.headers.authorization)) {
    return reply.code(401).send({ error: 'unauthorized' });
  }
});
app.addContentTypeParser('application/x-ndjson', (request, payload, done) => done(null, payload));

const refuse = (reply, status, error) => reply.code(status).send({ error });
const notFound = (reply) => refuse(reply, 404, 'no such plant');

app.post('/plants', { schema: CREATE }, async ({ body: { id, name, tag } }, reply) => {
  const isNew = await change('insert', id, name, tag ?? null);
  return isNew ? { name, tag } : refuse(reply, 409, 'the id is in use');
});

app.post('/plants/import', { bodyLimit: Number.MAX_SAFE_INTEGER }, async ({ body }) => {
  let created = 0;
  let rows = [];
  for await (const line of readline.createInterface({ input: body })) {
    rows.push(JSON.parse(line));
    if (rows.length < LINES) continue;
    created += await insertAll(rows);
    rows = [];
  }
  return { created: created + (await insertAll(rows)) };
});

app.get('/plants', { schema: LIST }, async (request, reply) => {
  const query = readPage(request.query);
  if (query === undefined) return refuse(reply, 400, 'not a page');
  const page = toPage(await read('list', query.after, query.limit + 1), query);
  if (page.link !== undefined) reply.header('link', page.link);
  return page.plants;
});

app.get('/plants/:id', { schema: READ }, async (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return refuse(reply, 400, 'not an id');
  const [row] = await read('find', id);
  if (row === undefined) return notFound(reply);
  reply.header('etag', toEtag(row));
  return toPlant(row);
});

app.put('/plants/:id', { schema: REPLACE }, async (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return refuse(reply, 400, 'not an id');
  const { name, tag } = request.body;
  return (await change('replace', name, tag ?? null, id)) ? { name, tag } : notFound(reply);
});

app.delete('/plants/:id', async (request, reply) => {
  const id = readId(request.params.id);
  if (id === undefined) return refuse(reply, 400, 'not an id');
  return (await change('remove', id)) ? reply.code(204).send() : notFound(reply);
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });

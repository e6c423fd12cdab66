// An import with Fastify and better-sqlite3, written by hand: JSON.parse of each line, and
// transactions of 1,000 rows, into a table with the program's indexes.
import Fastify from 'fastify';
import process from 'node:process';
import readline from 'node:readline';
import { isAllowed } from './bearer.mjs';
import { CREATE } from './fastify-schemas.mjs';
import { openPlants } from './plants-table.mjs';

const ROWS = 1_000;
const INDEXES = `
  CREATE INDEX IF NOT EXISTS plants_tag ON plants (tag) WHERE tag IS NOT NULL;
  CREATE INDEX IF NOT EXISTS plants_name ON plants (lower(substr(name, 1, 64)), id)`;

const plants = openPlants(INDEXES);
const app = Fastify({ bodyLimit: Number.MAX_SAFE_INTEGER });

app.addHook('onRequest', async (request, reply) => {
  if (!isAllowed(request.headers.authorization)) {
    return reply.code(401).send({ error: 'unauthorized' });
  }
});

app.addContentTypeParser('application/x-ndjson', (request, payload, done) => done(null, payload));

app.post('/plants', { schema: CREATE }, (request, reply) => {
  const { id, name, tag } = request.body;
  plants.insert.run(id, name, tag ?? null);
  reply.send({ name, tag });
});

app.post('/plants/import', async (request) => {
  let created = 0;
  let rows = [];
  for await (const line of readline.createInterface({ input: request.body })) {
    rows.push(JSON.parse(line));
    if (rows.length < ROWS) continue;
    created += plants.insertAll(rows);
    rows = [];
  }
  return { created: created + plants.insertAll(rows) };
});

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });

// Express and better-sqlite3, written by hand: one statement per request, and one commit and one
// flush per change.
import express from 'express';
import process from 'node:process';
import { isAllowed } from './bearer.mjs';
import { isTaken, openPlants } from './plants-table.mjs';
import { toEtag, isCurrent, toPage, toPlant, readId, readPage } from './stored-plants.mjs';

const plants = openPlants();
const app = express();
// Express would compute an ETag from the text of every answer.
app.set('etag', false);

app.use((request, response, next) => {
  if (isAllowed(request.headers.authorization)) return next();
  response.status(401).json({ error: 'unauthorized' });
});
app.use(express.json());

app.post('/plants', (request, response) => {
  const { id, name, tag } = request.body ?? {};
  if (!Number.isSafeInteger(id) || !isPlant(name, tag)) {
    return response.status(400).json({ error: 'not a plant' });
  }
  try {
    plants.insert.run(id, name, tag ?? null);
  } catch (error) {
    if (!isTaken(error)) throw error;
    return response.status(409).json({ error: 'the id is in use' });
  }
  response.json({ name, tag });
});

app.get('/plants', (request, response) => {
  const query = readPage(request.query);
  if (query === undefined) return response.status(400).json({ error: 'not a page' });
  const page = toPage(plants.page(query), query);
  if (page.link !== undefined) response.set('link', page.link);
  response.json(page.plants);
});

app
  .route('/plants/:id')
  .all((request, response, next) => {
    response.locals.id = readId(request.params.id);
    if (response.locals.id !== undefined) return next();
    response.status(400).json({ error: 'not an id' });
  })
  .get((request, response) => {
    const row = plants.find.get(response.locals.id);
    if (row === undefined) return notFound(response);
    const etag = toEtag(row);
    response.set('etag', etag);
    if (isCurrent(request.headers['if-none-match'], etag)) return response.status(304).end();
    response.json(toPlant(row));
  })
  .put((request, response) => {
    const { name, tag } = request.body ?? {};
    if (!isPlant(name, tag)) return response.status(400).json({ error: 'not a plant' });
    const { changes } = plants.replace.run(name, tag ?? null, response.locals.id);
    if (changes === 0) return notFound(response);
    response.json({ name, tag });
  })
  .delete((request, response) => {
    const { changes } = plants.remove.run(response.locals.id);
    if (changes === 0) return notFound(response);
    response.status(204).end();
  });

function notFound(response) {
  response.status(404).json({ error: 'no such plant' });
}

function isPlant(name, tag) {
  return typeof name === 'string' && (tag === undefined || typeof tag === 'string');
}

app.listen(process.env.PORT, '127.0.0.1');

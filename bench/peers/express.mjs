// Express and better-sqlite3, written by hand: one insert, one commit and one flush a request.
import express from 'express';
import process from 'node:process';
import { isAllowed } from './bearer.mjs';
import { isTaken, prepareInsert } from './plants-table.mjs';

const insert = prepareInsert();
const app = express();

app.use((request, response, next) => {
  if (isAllowed(request.headers.authorization)) return next();
  response.status(401).json({ error: 'unauthorized' });
});
app.use(express.json());

app.post('/plants', (request, response) => {
  const { id, name, tag } = request.body ?? {};
  if (!isPlant(id, name, tag)) return response.status(400).json({ error: 'not a plant' });
  try {
    insert.run(id, name, tag ?? null);
  } catch (error) {
    if (!isTaken(error)) throw error;
    return response.status(409).json({ error: 'the id is in use' });
  }
  response.json({ name, tag });
});

function isPlant(id, name, tag) {
  return (
    Number.isSafeInteger(id) &&
    typeof name === 'string' &&
    (tag === undefined || typeof tag === 'string')
  );
}

app.listen(process.env.PORT, '127.0.0.1');

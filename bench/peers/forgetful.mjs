// Answers every create and stores all but one in a thousand. Not a peer: it is here to show that
// the benchmark finds out.
import http from 'node:http';
import { json } from 'node:stream/consumers';
import process from 'node:process';
import { openPlants } from './plants-table.mjs';

const { insert } = openPlants();
let creates = 0;

const server = http.createServer(async (request, response) => {
  const { id, name, tag } = await json(request);
  creates += 1;
  if (creates % 1_000 !== 0) insert.run(id, name, tag ?? null);
  response.end(JSON.stringify({ name, tag }));
});

server.listen(Number(process.env.PORT), '127.0.0.1');

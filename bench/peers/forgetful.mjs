// Answers every create, but stores only 999 of 1,000. It is no peer, but shows that the benchmark
// detects lost rows.
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

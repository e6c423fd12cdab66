import { existsSync, readFileSync } from 'node:fs';

// Imports fifty plants into the program that npm start runs: npm run demo [-- http://127.0.0.1:3000]

const TOKEN_FILE = 'data/development-token';
const { PORT = '3000' } = process.env;
const [url = `http://127.0.0.1:${PORT}`] = process.argv.slice(2);
const kept = existsSync(TOKEN_FILE) ? readFileSync(TOKEN_FILE, 'utf8').trim() : undefined;
// A program that has other tokens takes one that is given here.
const token = process.env.TOKEN ?? kept;

try {
  if (token === undefined) throw new Error('There is no token: run npm start first, or set TOKEN');
  const authorization = `Bearer ${token}`;
  const response = await fetch(`${url}/plants/import`, {
    method: 'POST',
    headers: { Authorization: authorization, 'Content-Type': 'application/x-ndjson' },
    body: readFileSync(new URL('demo-plants.ndjson', import.meta.url)),
  }).catch(() => {
    throw new Error(
      `Nothing answers at ${url}: run npm start first, or name another address: npm run demo -- http://127.0.0.1:4000`,
    );
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.message}. TOKEN may hold another token`);
  const { created, identical, failed } = answer;
  console.log(`${created} plants are new, ${identical} were there already, ${failed} were refused.

See them at ${url}/docs#token=${encodeURIComponent(token)}, or with:

curl '${url}/plants?tag=fern' -H 'Authorization: ${authorization}'
`);
} catch (error) {
  process.exitCode = 1;
  console.error(error.message);
}

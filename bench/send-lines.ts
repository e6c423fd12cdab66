// Imports lines until it is killed, and prints when it begins; its argument is the URL of the plants.
import { Readable } from 'node:stream';
import { openImport, writeLines } from './lines.js';

const BLOCK = 1_000;

function* lines(): Generator<string> {
  for (let begin = 0; ; begin += BLOCK) yield writeLines(begin, BLOCK);
}

const [url = ''] = process.argv.slice(2);
const { request, result } = openImport(url);
request.once('socket', () => console.log('importing'));
Readable.from(lines()).pipe(request);
await result;

// Imports lines until it is killed: node bench/send-lines.mjs <url of the plants> <token>
import process from 'node:process';
import { Readable } from 'node:stream';
import { openImport, writeLines } from './lines.mjs';

const BLOCK = 1_000;

function* lines() {
  for (let begin = 0; ; begin += BLOCK) yield writeLines(begin, BLOCK);
}

const [url, token] = process.argv.slice(2);
const { request, result } = openImport({ url, token });
Readable.from(lines()).pipe(request);
await result;

import { existsSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTESTANTS, program } from './contestants.js';
import { openPostgres, openSqlite } from './engines.js';
import { measure } from './measure.js';
import { HELP, readOptions } from './options.js';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

// Runs the exit handlers, which end the programs and remove their databases.
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

const options = readOptions(process.argv.slice(2));
if (options.help) {
  console.log(HELP);
  process.exit();
}
const { against, engine: name } = options;
if (against !== undefined && !existsSync(path.join(against, 'dist/main.js'))) {
  throw new Error(`There is no built program in ${against}: run npm run build there`);
}

// The system's temporary folder may not be on a disk.
await mkdir(here('data'), { recursive: true });
const folder = await mkdtemp(here('data/run-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const [processor] = os.cpus();
const cores = `${processor?.model.trim() ?? 'unknown'}, ${os.availableParallelism()} cores`;
console.log(`${new Date().toISOString()}, Node ${process.version}, ${name}, ${cores}`);
const engine = name === 'sqlite' ? openSqlite() : await openPostgres(folder);
const contestants =
  against === undefined
    ? CONTESTANTS[name]
    : [program('this build'), program('the other build', against)];
try {
  const faults = await measure({ ...options, folder }, engine, contestants);
  if (faults.length === 0) console.log('\nEvery acknowledged change is stored, and nothing else.');
  for (const fault of faults) console.error(`FAILED: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
} finally {
  await engine.close();
}

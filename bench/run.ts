import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTESTANTS, program } from './contestants.js';
import { openPostgres, openSqlite } from './engines.js';
import { measure } from './measure.js';
import { HELP, OptionError, type Options, readOptions } from './options.js';
import { ContestantError } from './server.js';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

// Runs the exit handlers, which end the programs and remove their databases.
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(HELP);
  else await run(options);
} catch (error) {
  const isExpected = error instanceof OptionError || error instanceof ContestantError;
  console.error(isExpected ? error.message : error);
  process.exit(1);
}

async function run(options: Options): Promise<void> {
  const { against, engine: name } = options;
  for (const build of [here('..'), ...(against === undefined ? [] : [against])]) {
    if (existsSync(path.join(build, 'dist/main.js'))) continue;
    throw new OptionError(`There is no built program in ${build}: run npm run build there`);
  }
  const { error } = spawnSync('wrk', ['-v']);
  if (error !== undefined) throw new OptionError('The load comes from wrk: install it first');
  const folder = await makeFolder(options.folder ?? here('data'));
  printMachine(name);
  const engine = name === 'sqlite' ? openSqlite() : await openPostgres(folder);
  const contestants =
    against === undefined
      ? CONTESTANTS[name]
      : [program('this', 'this build'), program('other', 'the other build', against)];
  try {
    const faults = await measure({ ...options, folder }, engine, contestants);
    if (faults.length === 0)
      console.log('\nEvery acknowledged change is stored, and nothing else.');
    for (const fault of faults) console.error(`FAILED: ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  } finally {
    await engine.close();
  }
}

/** Creates a folder beside the program. The system's temporary folder may not be on a disk. */
async function makeFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(path.join(path.resolve(parent), 'run-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function printMachine(engine: string): void {
  const [processor] = os.cpus();
  const machine = [
    new Date().toISOString(),
    `Node ${process.version}`,
    engine,
    `${processor?.model.trim() ?? 'unknown'}, ${os.availableParallelism()} cores`,
    `${os.type()} ${os.release()}`,
  ];
  console.log(machine.join(', '));
}

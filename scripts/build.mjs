import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';

// npm run build: compiles the program beside dist, and then puts it in the place of dist. Programs
// that run from there go on meanwhile, and one that does not compile leaves the last one in place.

const began = new Date();
if (process.argv.includes('--if-changed') && newestSource() < builtAt()) process.exit(0);

const made = `dist.${process.pid}`;
const old = `${made}.old`;
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
process.on('exit', () => {
  for (const folder of [made, old]) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

if (!isWritable()) {
  console.error(
    `The program cannot be built: ${process.cwd()} cannot be written by the user ${userInfo().username}. What is built already runs by node dist/main.js`,
  );
  process.exit(1);
}
console.error('Building the program, which takes a few seconds');
const { status } = spawnSync(
  process.execPath,
  [tsc, '--project', 'tsconfig.build.json', '--outDir', made],
  { stdio: 'inherit' },
);
if (status !== 0) process.exit(1);
// What was changed while it was compiled is newer.
utimesSync(join(made, 'main.js'), began, began);
publish();

/** When a source, the folder of one, or what decides how they are compiled was last changed. */
function newestSource() {
  const sources = readdirSync('src', { recursive: true }).map((path) => join('src', path));
  const others = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
  const times = ['src', ...sources, ...others].map((path) => changedAt(path));
  return Math.max(...times);
}

function builtAt() {
  return changedAt(join('dist', 'main.js'));
}

function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function isWritable() {
  try {
    accessSync('.', constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Another build may do the same at the same time: the last one wins. */
function publish() {
  for (;;) {
    try {
      renameSync(made, 'dist');
      return;
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) throw error;
    }
    try {
      renameSync('dist', old);
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
}

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';

// npm run build: compiles the program beside dist, and then replaces dist. Programs that run from
// dist are not disturbed, and a failed compilation leaves dist as it was.

/** The file in dist with the hash of its sources. */
const BUILT_FROM = '.built-from';

const sources = hashSources();
if (process.argv.includes('--if-changed') && sources === readBuilt()) process.exit(0);

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
writeFileSync(join(made, BUILT_FROM), sources);
publish();

/** Hashes all sources, and the files that configure their compilation. */
function hashSources() {
  const hash = createHash('sha256');
  const entries = readdirSync('src', { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  for (const path of [...paths, 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json']) {
    hash.update(`\n${path}\n`).update(readFileSync(path));
  }
  return hash.digest('hex');
}

function readBuilt() {
  try {
    return readFileSync(join('dist', BUILT_FROM), 'utf8');
  } catch {
    return undefined;
  }
}

function isWritable() {
  try {
    accessSync('.', constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Another build may run at the same time: the last one wins. */
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

// Runs after every install, and makes sure that sqlite3 loads. Its own install script downloads a
// binary without loading it, and that binary needs glibc 2.38. Where there is no such binary, the script
// builds one, which fails in a folder with a blank in its path.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const sqlite3 = dirname(createRequire(import.meta.url).resolve('sqlite3/package.json'));
/** Finds what sqlite3 depends on, also where the layout of node_modules is strict. */
const { resolve } = createRequire(join(sqlite3, 'package.json'));
const BINARY = 'build/Release/node_sqlite3.node';

if (!loads()) {
  download();
  if (!loads()) build();
}

function loads() {
  return run('-e', 'require(process.argv[1])', sqlite3).status === 0;
}

/** Does what the install script of sqlite3 does first, if it was not allowed to run. */
function download() {
  run(resolve('prebuild-install/bin.js'), '-r', 'napi');
}

/** Builds the binary in a folder whose path has no blanks. */
function build() {
  console.error(
    'Building sqlite3 for this system: this takes one to five minutes, and prints nothing',
  );
  const folder = mkdtempSync(join(tmpdir(), 'sqlite3-'));
  const copy = join(folder, 'sqlite3');
  cpSync(sqlite3, copy, { recursive: true });
  const headers = dirname(resolve('node-addon-api/package.json'));
  cpSync(headers, join(folder, 'node_modules/node-addon-api'), { recursive: true });
  // The copy still finds the other packages that it needs.
  process.env.NODE_PATH = resolve.paths('tar').join(delimiter);
  const { stdout, stderr, status } = run(findNodeGyp(), 'rebuild', '-C', copy);
  if (status === 0) cpSync(join(copy, BINARY), join(sqlite3, BINARY));
  rmSync(folder, { recursive: true });
  if (status === 0 && loads()) return;
  console.error(`${stdout}${stderr}
sqlite3 has no binary for this system and could not be built, as the lines above say. A build needs python3, make and g++ (Debian: apt-get install python3 make g++), and the headers of Node, which are downloaded. Then install the packages again`);
  process.exitCode = 1;
}

/** npm and pnpm bring it. */
function findNodeGyp() {
  return process.env.npm_config_node_gyp ?? resolve('node-gyp/bin/node-gyp.js');
}

function run(...args) {
  return spawnSync(process.execPath, args, { cwd: sqlite3, encoding: 'utf8' });
}

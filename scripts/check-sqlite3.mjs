// Runs after every install: sqlite3's prebuilt binary needs a recent C library and is not tried by
// sqlite3's own install script, and npm 12 may not run that script at all.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

// Beside this program, or in its own node_modules.
const sqlite3 = dirname(createRequire(import.meta.url).resolve('sqlite3/package.json'));

function loads() {
  return run(process.execPath, ['-e', 'require(process.argv[1])', sqlite3], 'ignore');
}

function build() {
  const nodeGyp = process.env.npm_config_node_gyp;
  if (!nodeGyp || !existsSync(nodeGyp)) return false;
  console.error('sqlite3 has no binary for this system: building it, which takes about a minute');
  return run(process.execPath, [nodeGyp, 'rebuild', '-C', sqlite3], 'ignore');
}

function run(command, args, stdio) {
  return spawnSync(command, args, { stdio }).status === 0;
}

if (!loads() && !(build() && loads())) {
  console.error(
    'sqlite3 could not be built: install python3, make and g++ (Debian: apt-get install python3 make g++), then run npm ci again',
  );
  process.exitCode = 1;
}

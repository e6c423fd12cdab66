// Runs after every install: sqlite3's prebuilt binary needs a recent C library and is not tried by
// sqlite3's own install script, and npm 12 may not run that script at all.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const root = new URL('..', import.meta.url);

function loads() {
  return run(process.execPath, ['-e', 'require("sqlite3")'], 'ignore');
}

function build() {
  const nodeGyp = process.env.npm_config_node_gyp;
  if (!nodeGyp || !existsSync(nodeGyp)) return false;
  console.error('sqlite3 has no binary for this system: building it, which takes about a minute');
  return run(process.execPath, [nodeGyp, 'rebuild', '-C', 'node_modules/sqlite3'], 'ignore');
}

function run(command, args, stdio) {
  return spawnSync(command, args, { cwd: root, stdio }).status === 0;
}

if (!loads() && !(build() && loads())) {
  console.error(
    'sqlite3 could not be built: install python3, make and g++ (Debian: apt-get install python3 make g++), then run npm ci again',
  );
  process.exitCode = 1;
}

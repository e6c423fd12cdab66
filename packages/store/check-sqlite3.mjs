// Runs after every install, and makes sure that sqlite3 loads. Its own install script downloads a
// binary without loading it, and that binary needs glibc 2.38.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const sqlite3 = dirname(createRequire(import.meta.url).resolve('sqlite3/package.json'));
const run = (...args) => spawnSync(process.execPath, args, { encoding: 'utf8' });
const loads = () => run('-e', 'require(process.argv[1])', sqlite3).status === 0;

if (!loads()) {
  console.error('Building sqlite3 for this system, which takes a minute');
  const { stdout, stderr } = run(process.env.npm_config_node_gyp, 'rebuild', '-C', sqlite3);
  if (!loads()) {
    console.error(`${stdout}${stderr}
sqlite3 has no binary for this system and could not be built: install python3, make and g++ (Debian: apt-get install python3 make g++), then run npm ci again`);
    process.exitCode = 1;
  }
}

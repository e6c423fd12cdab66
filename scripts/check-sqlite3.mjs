// Runs after every install, and makes sure that sqlite3 loads. sqlite3's own install script is
// switched off where npm allows that (allowScripts: npm 12, and late versions of 11). It does not
// test the binary that it downloads, which needs a recent C library, and it builds from source
// without a message.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The binary for download needs glibc 2.38. */
const GLIBC_MINOR_OF_DOWNLOAD = 38;

// Beside this program, or in its own node_modules.
const require = createRequire(import.meta.url);
const sqlite3 = dirname(require.resolve('sqlite3/package.json'));
const binary = join(sqlite3, 'build/Release/node_sqlite3.node');

process.report.excludeNetwork = true;
const glibc = process.report.getReport().header.glibcVersionRuntime;

// npm's cache keeps the binary that this machine has built, which fits every version of Node.
const { version } = JSON.parse(readFileSync(join(sqlite3, 'package.json'), 'utf8'));
const kept = join(
  process.env.npm_config_cache ?? '',
  '_sqlite3',
  [version, process.platform, process.arch, glibc ?? 'other'].join('-'),
  'node_sqlite3.node',
);

const failure = loads() || loadsWhenReused() || loadsWhenDownloaded() ? undefined : build();
if (failure !== undefined) {
  console.error(failure);
  process.exitCode = 1;
}

function loads() {
  return run(process.execPath, ['-e', 'require(process.argv[1])', sqlite3]).status === 0;
}

function loadsWhenReused() {
  if (!existsSync(kept)) return false;
  copy(kept, binary);
  return loads();
}

function loadsWhenDownloaded() {
  if (Number(glibc?.split('.')[1]) < GLIBC_MINOR_OF_DOWNLOAD) return false;
  const download = createRequire(join(sqlite3, 'package.json')).resolve('prebuild-install/bin.js');
  return (
    run(process.execPath, [download, '--runtime=napi'], { cwd: sqlite3 }).status === 0 && loads()
  );
}

/** Builds the binary. Returns the reason if there is none that loads. */
function build() {
  const { PYTHON = 'python3', CXX = 'g++', npm_config_node_gyp: nodeGyp } = process.env;
  const missing = [PYTHON, 'make', CXX].filter((tool) => run(tool, ['--version']).status !== 0);
  if (missing.length > 0) {
    return `sqlite3 has no binary for this system and has to be built, for which there is no ${missing.join(', no ')}: install python3, make and g++ (Debian: apt-get install python3 make g++), then run npm ci again`;
  }
  if (!nodeGyp) return 'sqlite3 has no binary for this system: run npm ci, which builds one';
  console.error('Building sqlite3 for this system, which takes a minute, once on this machine');
  const env = { ...process.env, JOBS: 'max' };
  const { stdout, stderr } = run(process.execPath, [nodeGyp, 'rebuild', '-C', sqlite3], { env });
  if (!loads()) return `${stdout}${stderr}\nsqlite3 could not be built, for the reason above`;
  if (process.env.npm_config_cache) copy(binary, kept);
  return undefined;
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function run(command, args, options) {
  return spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26, ...options });
}

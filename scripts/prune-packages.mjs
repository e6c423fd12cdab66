// Removes from node_modules everything but the licences and the files that the program needs to
// run. It is for the container image, after `npm prune --omit=dev`.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Dependencies that a package needs only for its installation, or for a plugin of a compiler. */
const NOT_AT_RUN_TIME = {
  '@nestjs/swagger': ['typescript'],
  sqlite3: ['node-addon-api', 'node-gyp', 'prebuild-install', 'tar'],
};

/** Files of a package that Node does not load: builds for browsers, tests, the steps of a build. */
const UNUSED_FILES = {
  bintrees: /^test\//,
  'class-transformer': /^(bundles|esm2015|esm5)\//,
  'class-validator': /^(bundles|esm2015|esm5)\//,
  'libphonenumber-js': /^(bundle|es6-modern)\//,
  rxjs: /^dist\/(bundles|esm|esm5)\//,
  sqlite3: /^(?!package\.json$|LICENSE$|lib\/|build\/Release\/node_sqlite3\.node$)/,
  'swagger-ui-dist': /^(swagger-ui-es-bundle.*|swagger-ui)\.js$/,
  typeorm: /^browser\//,
};

/** Types, source maps and documents: Node loads no TypeScript from node_modules. */
const UNUSED_KINDS = /\.([cm]?ts|map|md|markdown)$/;
const LICENCE = /^(licen[cs]e|notice|copying)\b/i;

// The files that only npm uses.
for (const name of ['.bin', '.package-lock.json']) remove(join('node_modules', name));

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const needed = new Set();
need('');
for (const path of Object.keys(packages)) {
  if (!needed.has(path)) remove(path);
}
for (const path of needed) {
  if (path !== '') pruneFolder(path, UNUSED_FILES[nameOf(path)] ?? /^$/);
}

/** Adds a package of the lock file and its dependencies to the needed ones. */
function need(path) {
  if (needed.has(path)) return;
  needed.add(path);
  const { dependencies, optionalDependencies, peerDependencies } = packages[path];
  for (const name of Object.keys({
    ...dependencies,
    ...optionalDependencies,
    ...peerDependencies,
  })) {
    if (NOT_AT_RUN_TIME[nameOf(path)]?.includes(name)) continue;
    const found = resolve(path, name);
    if (found !== undefined) need(found);
  }
}

/** Finds the package that another one imports, as Node does; undefined if it is not installed. */
function resolve(importer, name) {
  const path = join(importer, 'node_modules', name);
  if (packages[path] !== undefined && existsSync(path)) return path;
  return importer === ''
    ? undefined
    : resolve(importer.replace(/\/?node_modules\/(@[^/]+\/)?[^/]+$/, ''), name);
}

function nameOf(path) {
  return path.replace(/^.*node_modules\//, '');
}

/**
 * Removes the unused files of a package, and the folders that are then empty.
 *
 * @param inside the path of the folder inside the package, with a slash at the end
 */
function pruneFolder(path, unused, inside = '') {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const entryPath = join(path, entry.name);
    const entryInside = inside + entry.name;
    if (entry.isDirectory()) {
      // Nested packages are pruned separately.
      if (entry.name !== 'node_modules') pruneFolder(entryPath, unused, `${entryInside}/`);
    } else if (
      unused.test(entryInside) ||
      (UNUSED_KINDS.test(entry.name) && !LICENCE.test(entry.name))
    ) {
      remove(entryPath);
    }
  }
  if (readdirSync(path).length === 0) remove(path);
}

function remove(path) {
  rmSync(path, { recursive: true, force: true });
}

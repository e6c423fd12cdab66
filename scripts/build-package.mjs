import { transformFileSync } from '@swc/core';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { swc } from './swc.mjs';

// Compiles the packages that a service runs. As a plugin of Nest's command line, it runs whenever that compiles a
// service: so `nest build`, `nest start` and `nest start --watch` never use an old build. tsc has
// checked the types of all by then. A program may run from the outputs, so only those change whose
// source has changed, and those without a source are removed.

const PACKAGES = ['store', 'platform'].map((name) =>
  join(import.meta.dirname, '../packages', name),
);

/**
 * @param _ options, of which there are none
 * @param program of tsc, with the sources of the service
 */
export function before(_, program) {
  for (const folder of PACKAGES) compileFolder(join(folder, 'src'), join(folder, 'dist'));
  const { rootDir, outDir } = program?.getCompilerOptions() ?? {};
  if (outDir !== undefined) removeStale(rootDir, outDir);
  return () => (file) => file;
}

/** Compiles all sources of a folder but tests, and removes what is not from these. */
export function compileFolder(sources, outputs) {
  for (const path of readdirSync(sources, { recursive: true })) {
    if (isCompiled(path)) compile(join(sources, path), join(outputs, path.replace(/ts$/, 'js')));
  }
  removeStale(sources, outputs);
}

function compile(source, target) {
  const sourceFileName = relative(dirname(target), source);
  const { code, map } = transformFileSync(source, { ...swc, sourceMaps: true, sourceFileName });
  mkdirSync(dirname(target), { recursive: true });
  writeChanged(target, `${code}\n//# sourceMappingURL=${target.split('/').at(-1)}.map\n`);
  writeChanged(`${target}.map`, map);
}

function writeChanged(file, text) {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}

/** Removes the outputs of sources that are gone, and types, which only npm pack needs. */
export function removeStale(sources, outputs) {
  if (!existsSync(outputs)) return;
  // What is in a folder comes before the folder.
  for (const path of readdirSync(outputs, { recursive: true }).reverse()) {
    const output = join(outputs, path);
    if (isStale(path, sources)) rmSync(output);
    else if (isEmptyFolder(output)) rmdirSync(output);
  }
}

function isStale(path, sources) {
  if (path.endsWith('.d.ts')) return true;
  const source = path.replace(/\.js(\.map)?$/, '.ts');
  if (source === path) return false;
  return !isCompiled(source) || !existsSync(join(sources, source));
}

function isEmptyFolder(path) {
  return statSync(path).isDirectory() && readdirSync(path).length === 0;
}

function isCompiled(path) {
  return /\.ts$/.test(path) && !/(spec|\.d)\.ts$/.test(path);
}

// npm pack of the package needs its types, which tsc writes after this. Afterwards this removes them.
if (process.argv[1] === import.meta.filename) before();

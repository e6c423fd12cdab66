import { transformFileSync } from '@swc/core';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { swc } from './swc.mjs';

// Compiles packages/platform. As a plugin of Nest's command line, it runs whenever that compiles the
// service: so `nest build`, `nest start` and `nest start --watch` never use an old build. tsc has
// checked the types of both by then.

const FOLDER = join(import.meta.dirname, '../packages/platform');
const SOURCES = join(FOLDER, 'src');

export function before() {
  for (const path of readdirSync(SOURCES, { recursive: true })) {
    if (/\.ts$/.test(path) && !/(spec|\.d)\.ts$/.test(path)) compile(path);
  }
  return () => (file) => file;
}

function compile(path) {
  const source = join(SOURCES, path);
  const target = join(FOLDER, 'dist', path.replace(/ts$/, 'js'));
  const sourceFileName = relative(dirname(target), source);
  const { code, map } = transformFileSync(source, { ...swc, sourceMaps: true, sourceFileName });
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, `${code}\n//# sourceMappingURL=${target.split('/').at(-1)}.map\n`);
  writeFileSync(`${target}.map`, map);
}

// npm pack of the package also needs its types: node scripts/build-package.mjs
if (process.argv[1] === import.meta.filename) before();

import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import ts from 'typescript';

const ROOT = new URL('../../', import.meta.url).pathname;

interface PackageJson {
  readonly name: string;
  readonly dependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
}

/** The platform adds a member to a type of Express, which needs no package when it runs. */
const TYPES_OF_EXPRESS = 'express-serve-static-core';

/** Lists the packages that a file imports, in every way. */
function listPackages(path: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(path, 'utf8'), true, true);
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((name) => !name.startsWith('.') && !isBuiltin(name) && name !== TYPES_OF_EXPRESS)
    .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
}

// A package may be found by chance, since another one needs it. Under a strict layout it is not.
it.each([
  ['.', 'src'],
  ['packages/platform', 'packages/platform/src'],
  ['packages/store', 'packages/store/src'],
  ['packages/schematics', 'packages/schematics'],
  ['client', 'client'],
])('the package.json in %s names each package that is imported below %s', (folder, sources) => {
  const text = readFileSync(`${ROOT}${folder}/package.json`, 'utf8');
  const { name, dependencies, peerDependencies, devDependencies } = JSON.parse(text) as PackageJson;
  // The generators and the helpers for tests run only during development.
  const development = folder === 'packages/schematics' ? devDependencies : {};
  const declared = [name, ...Object.keys({ ...dependencies, ...peerDependencies, ...development })];
  const files = readdirSync(ROOT + sources, { recursive: true, encoding: 'utf8' }).filter(
    (path) =>
      /(?<!spec)\.(?:ts|mjs|cjs)$/.test(path) &&
      !/(?:^|\/)(?:dist|node_modules|testing)\//.test(path),
  );
  const imported = new Set(files.flatMap((path) => listPackages(`${ROOT}${sources}/${path}`)));
  expect([...imported].filter((one) => !declared.includes(one))).toEqual([]);
});

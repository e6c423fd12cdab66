import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Build {
  readonly compileFolder: (sources: string, outputs: string) => void;
  readonly removeStale: (sources: string, outputs: string) => void;
}
const script = new URL('../../scripts/build-package.mjs', import.meta.url).href;
const { compileFolder, removeStale } = (await import(script)) as Build;

/** Long before any output of the tests. */
const OLD = new Date('2020-01-01');

let folder: string;
let sources: string;
let outputs: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'build-'));
  [sources, outputs] = [join(folder, 'src'), join(folder, 'dist')];
  mkdirSync(join(sources, 'beds'), { recursive: true });
  for (const path of ['main', 'beds/bed', 'beds/bed.spec', 'beds/bed.e2e-spec', 'types.d']) {
    writeFileSync(join(sources, `${path}.ts`), 'export {};');
  }
  compileFolder(sources, outputs);
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function listOutputs(): string[] {
  return readdirSync(outputs, { recursive: true, encoding: 'utf8' }).sort();
}

const MAIN = ['main.js', 'main.js.map'];

it('a build writes a program and its map for each source but tests and types', () => {
  expect(listOutputs()).toEqual(['beds', 'beds/bed.js', 'beds/bed.js.map', ...MAIN]);
});

it('a build leaves nothing of a folder of sources that is gone', () => {
  rmSync(join(sources, 'beds'), { recursive: true });
  compileFolder(sources, outputs);
  expect(listOutputs()).toEqual(MAIN);
});

it('a build removes types and outputs of tests, and nothing else', () => {
  for (const path of ['main.d.ts', 'beds/bed.spec.js', 'gone.js.map', '.tsbuildinfo']) {
    writeFileSync(join(outputs, path), '');
  }
  removeStale(sources, outputs);
  expect(listOutputs()).toEqual([
    '.tsbuildinfo',
    'beds',
    'beds/bed.js',
    'beds/bed.js.map',
    ...MAIN,
  ]);
});

it('a build changes only the outputs whose source has changed', () => {
  for (const path of listOutputs()) utimesSync(join(outputs, path), OLD, OLD);
  writeFileSync(join(sources, 'main.ts'), 'export const more = 1;');
  compileFolder(sources, outputs);
  const changed = listOutputs().filter((path) => statSync(join(outputs, path)).mtime > OLD);
  expect(changed).toEqual(MAIN);
});

it('a build without outputs has nothing to remove', () => {
  removeStale(sources, join(folder, 'none'));
  expect(existsSync(join(folder, 'none'))).toBe(false);
});

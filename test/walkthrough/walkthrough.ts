import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// npm run test:walkthrough: in a copy of the project, adds a module by the command and tests it, then
// another as docs/adding-a-module.md says, whose last step is to check the whole with both. With
// --brief that leaves out what was there before on PostgreSQL, which takes minutes.

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LEFT_OUT = ['.git', 'node_modules', 'dist', 'data', 'coverage'];
const IS_BRIEF = process.argv.includes('--brief');
const BRIEF_CHECK =
  'npm run check:static && npm test -- --selectProjects unit sqlite && npm run test:programs';
const BLOCK = /^```(\w+)(?: (\S+))?\n(.*?)^```$/gms;

const copy = mkdtempSync(join(tmpdir(), 'plant-store-walkthrough-'));
try {
  copyProject();
  run('npm run new:module -- gardens\nnpm test -- gardens');
  const before = fileTexts();
  followDocument();
  printSize(before);
} finally {
  rmSync(copy, { recursive: true });
}

function copyProject(): void {
  cpSync(ROOT, copy, {
    recursive: true,
    filter: (path) => !LEFT_OUT.includes(basename(path)),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
}

function followDocument(): void {
  const text = readFileSync(join(ROOT, 'docs/adding-a-module.md'), 'utf8');
  for (const [, language, path, block = ''] of text.matchAll(BLOCK)) {
    if (path !== undefined) console.log(path);
    if (language === 'sh') run(IS_BRIEF ? block.replace('npm run check', BRIEF_CHECK) : block);
    else if (path === undefined) throw new Error(`a block without a path:\n${block}`);
    else if (language === 'diff') edit(fileOf(path), block);
    else write(join(copy, path), block);
  }
}

/** The one file of a path, of whose name a part may be `*`. */
function fileOf(path: string): string {
  const [before = '', after] = basename(path).split('*');
  if (after === undefined) return join(copy, path);
  const folder = join(copy, dirname(path));
  const [name, ...others] = readdirSync(folder).filter(
    (one) => one.startsWith(before) && one.endsWith(after),
  );
  if (name === undefined || others.length > 0) throw new Error(`${path} is not one file`);
  return join(folder, name);
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Replaces the lines that begin with a space or a minus by those with a space or a plus. */
function edit(file: string, diff: string): void {
  const lines = readFileSync(file, 'utf8').split('\n');
  const edits = diff.trimEnd().split('\n');
  const pick = (without: string): string[] =>
    edits.filter((line) => !line.startsWith(without)).map((line) => line.slice(1));
  const old = pick('+');
  const places = lines.flatMap((_, index) =>
    old.every((line, offset) => line.trim() === lines[index + offset]?.trim()) ? [index] : [],
  );
  const [place] = places;
  if (place === undefined || places.length > 1) {
    throw new Error(`${file} has these lines ${places.length} times, not once:\n${old.join('\n')}`);
  }
  lines.splice(place, old.length, ...pick('-'));
  writeFileSync(file, lines.join('\n'));
}

function run(commands: string): void {
  console.log(commands);
  const began = performance.now();
  execFileSync('sh', ['-ec', commands], { cwd: copy, stdio: 'inherit' });
  console.log(`${((performance.now() - began) / 1_000).toFixed()} s`);
}

/** The text of each file of the copy that somebody writes, by its path. */
function fileTexts(): Map<string, string> {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(copy, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => join(folder, path)),
  );
  return new Map(files.map((path) => [path, readFileSync(join(copy, path), 'utf8')]));
}

/** How many files and lines the module has taken. */
function printSize(before: ReadonlyMap<string, string>): void {
  const sizes = new Map<string, { files: number; lines: number }>();
  for (const [path, text] of fileTexts()) {
    const old = before.get(path);
    if (old === text) continue;
    const isTest = path.startsWith('test/');
    const place = isTest ? 'in test' : old === undefined ? 'in its folder' : 'of others';
    const { files, lines } = sizes.get(place) ?? { files: 0, lines: 0 };
    sizes.set(place, {
      files: files + 1,
      lines: lines + countLines(text) - countLines(old ?? ''),
    });
  }
  for (const [place, { files, lines }] of sizes) {
    console.log(`The module took ${lines} lines in ${files} files ${place}.`);
  }
}

function countLines(text: string): number {
  return text.split('\n').filter((line) => line.trim() !== '').length;
}

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Does what docs/adding-a-module.md says, in a copy of the project: npm run test:walkthrough

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LEFT_OUT = ['.git', 'node_modules', 'dist', 'data', 'coverage'];
const BLOCK = /^```(\w+)(?: (\S+))?\n(.*?)^```$/gms;

const copy = mkdtempSync(join(tmpdir(), 'plant-store-walkthrough-'));
try {
  copyProject();
  let lines = 0;
  const text = readFileSync(join(ROOT, 'docs/adding-a-module.md'), 'utf8');
  for (const [, language, path, block = ''] of text.matchAll(BLOCK)) {
    if (path !== undefined) console.log(path);
    if (language === 'sh') run(block);
    else if (path === undefined) throw new Error(`a block without a path:\n${block}`);
    else if (language === 'diff') lines += edit(path, block);
    else lines += create(path, block);
  }
  console.log(`The module takes ${lines} lines, its tests included.`);
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

function create(path: string, text: string): number {
  const file = join(copy, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { flag: 'wx' });
  return countLines(text);
}

/** Replaces the lines that begin with a space or a minus by those with a space or a plus. */
function edit(path: string, diff: string): number {
  const file = join(copy, path);
  const lines = readFileSync(file, 'utf8').split('\n');
  const edits = diff.trimEnd().split('\n');
  const pick = (without: string): string[] =>
    edits.filter((line) => !line.startsWith(without)).map((line) => line.slice(1));
  const old = pick('+');
  const places = lines.flatMap((_, index) =>
    old.every((line, offset) => isAlike(line, lines[index + offset])) ? [index] : [],
  );
  const [place] = places;
  if (place === undefined || places.length > 1) {
    throw new Error(`${path} has these lines ${places.length} times, not once:\n${old.join('\n')}`);
  }
  lines.splice(place, old.length, ...pick('-'));
  writeFileSync(file, lines.join('\n'));
  return edits.filter((line) => line.startsWith('+')).length;
}

/** The formatter aligns tables by their longest cell. */
function isAlike(a: string, b = ''): boolean {
  return a.replaceAll(/\s+/g, ' ').trim() === b.replaceAll(/\s+/g, ' ').trim();
}

function run(commands: string): void {
  console.log(commands);
  execFileSync('sh', ['-ec', commands], { cwd: copy, stdio: 'inherit' });
}

function countLines(text: string): number {
  return text.split('\n').filter((line) => line.trim() !== '').length;
}
